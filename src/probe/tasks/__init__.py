"""What is asked: task files, their sentences, their splits, and the two counts that tell what word order is worth."""
