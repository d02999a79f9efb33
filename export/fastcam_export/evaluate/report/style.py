"""How the page of an evaluation looks: on a desk, and on a telephone."""

from __future__ import annotations

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#24292f;max-width:1180px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2.2rem}
p.small,.small{color:#57606a;font-size:13px}li{overflow-wrap:anywhere}
.cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));margin:1rem 0}
.card{border:1px solid #d0d7de;border-radius:8px;padding:.7rem 1rem}
.card h3{margin:0 0 .4rem;font-size:1.05rem}
.card dl{margin:0}.card dt{color:#57606a;font-size:13px;margin-top:.45rem}.card dd{margin:0}
.card dd span{display:block;color:#57606a;font-size:13px;line-height:1.35}
.good::before{content:"✓ ";color:#1a7f37;font-weight:700}.part::before{content:"◐ ";color:#9a6700}
.bad::before{content:"✗ ";color:#d1242f;font-weight:700}
.open::before{content:"? ";color:#57606a;font-weight:700}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0;font-size:13px;line-height:1.35}
td,th{padding:.3rem .55rem;border-bottom:1px solid #d0d7de;text-align:left;white-space:nowrap}
td{vertical-align:top}
th{background:#f6f8fa;vertical-align:bottom}td i{display:block;font-style:normal;color:#57606a;font-size:12px}
td.best{background:#dafbe1}
th:first-child,td:first-child{position:sticky;left:0;min-width:6.5rem;max-width:8.5rem;white-space:normal}
td:first-child{background:#fff}table.wrap td{white-space:normal;overflow-wrap:anywhere}
.plots{display:grid;gap:1.6rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}
svg{width:100%;max-width:34rem;height:auto}
.shots{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;width:270px}
figure img{width:132px;margin-right:3px}figcaption{font-size:12px;color:#57606a;overflow-wrap:anywhere}
"""
"""A stylesheet."""
