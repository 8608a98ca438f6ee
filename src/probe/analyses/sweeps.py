"""Activation patching, place by place: what is lost or gained where one activation comes from the other sentence.

Layer × position for the residual stream and what attention and MLPs write to it; layer × head for queries, keys,
values, patterns and outputs. Noising asks what is necessary, denoising what is sufficient (Heimersheim & Nanda 2024),
and the two need not agree; but where every pair counts both ways, denoising (b, a) is noising (a, b), and is left out.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from probe.activations import Kind, Site, cached, sites_of
from probe.contrasts import Contrast, Scale, answered, patched
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance

BY_POSITION: tuple[Kind, ...] = ("resid_pre", "resid_mid", "attn_out", "mlp_out")
BY_HEAD: tuple[Kind, ...] = ("q", "k", "v", "pattern", "z")


def sweeps(model: Transformer, contrast: Contrast, provenance: Provenance) -> AnalysisResult:
    """Patch every place of every kind by itself, in both directions.

    Returns:
        Rows `kind, layer, head, position, role, metric` (noising, and denoising where it is another number), `value,
        low, high` and `ratio_of_means`, over the pairs that are answered right both ways. `head` is missing for kinds
        of the stream, `position` for kinds of heads (all positions at once).
    """
    contrast = answered(model, contrast)
    rows: list[dict[str, Any]] = []
    if len(contrast):
        sites = _sites(model, contrast)
        names = sorted({site.name for site in sites})
        clean_logits, from_clean = cached(model, contrast.clean, names)
        other_logits, from_other = cached(model, contrast.other, names)
        scale = Scale.of(contrast, clean_logits[:, -1], other_logits[:, -1])
        for metric, by_site in patched(model, scale, sites, from_clean, from_other).items():
            for site, shares in zip(sites, by_site, strict=True):
                role = None if site.position is None else contrast.roles[site.position]
                place = {"kind": site.kind, "layer": site.layer, "head": site.head, "position": site.position}
                rows.append({**place, "role": role, "metric": metric, **scale.summary(shares)})
    table = pd.DataFrame(rows).astype({"head": "Int64", "position": "Int64"}) if rows else pd.DataFrame(rows)
    return AnalysisResult(
        name=f"sweeps-{contrast.name}",
        table=table,
        unit="share of the logit difference",
        maximum=1.0,
        floor="0: a place that does not matter; 1 is everything",
        convention="share per pair, then averaged (ratio_of_means beside it); 95 % cluster bootstrap over noun pairs",
        provenance=provenance,
        details={"contrast": contrast.name, "pairs": len(contrast), "roles": dict(contrast.roles)},
    )


def _sites(model: Transformer, contrast: Contrast) -> list[Site]:
    """Every place that this model has."""
    config, places = model.config, sorted(contrast.roles)
    stream: list[Kind] = [kind for kind in BY_POSITION if config.d_mlp or kind not in ("resid_mid", "mlp_out")]
    by_head = BY_HEAD if config.mixer == "attention" else ()
    return [
        *(site for kind in stream for site in sites_of(kind, config.n_layers, config.n_heads, places)),
        *(site for kind in by_head for site in sites_of(kind, config.n_layers, config.n_heads)),
    ]
