"""Who answers: one configurable transformer, plain for training and hooked for looking."""
