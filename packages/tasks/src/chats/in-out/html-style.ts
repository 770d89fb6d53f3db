/** Of an exported page. It is written between the tags as it is, and its hash is in the page's policy. */
export const pageStyle = `
:root{--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;--paper:#fff;--tint:#f4f6f8;--link:#0b57d0;--fault:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#9aa4af;--line:#353c44;--paper:#14171a;--tint:#1e2328;--link:#8ab4f8;--fault:#f2b8b5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:48rem;padding:1rem;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.3;margin:.5rem 0 1.5rem}
h2{font-size:.875rem;margin:0 0 .5rem;color:var(--soft)}
h3,h4,h5,h6{font-size:1rem;margin:1.25rem 0 .5rem}
h3{font-size:1.125rem}
small{font-weight:400}
a{color:var(--link)}
section{margin:0 0 1.5rem}
section.user{background:var(--tint);border-radius:.75rem;padding:.75rem 1rem}
p,ul,ol,blockquote,pre,details{margin:.5rem 0}
.said,.text p{white-space:pre-wrap}
ul,ol{padding-inline-start:1.5rem}
li.task{list-style:none;text-indent:-1.35em}
li.task>*{text-indent:0}
li.task>p:first-child{text-indent:-1.35em}
.wide{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;overflow-wrap:normal}
th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:start;vertical-align:top}
th{background:var(--tint)}
section.user th{background:var(--paper)}
.left{text-align:left}
.center{text-align:center}
.right{text-align:right}
blockquote{border-inline-start:3px solid var(--line);padding-inline-start:.75rem;color:var(--soft)}
pre,code{font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono",monospace}
code{background:var(--tint);border-radius:.25rem;padding:.1em .3em}
pre{background:var(--tint);border:1px solid var(--line);border-radius:.5rem;padding:.75rem;overflow:auto;max-height:30rem}
section.user pre{background:var(--paper)}
pre code{background:none;padding:0}
details{border:1px solid var(--line);border-radius:.5rem;padding:.4rem .75rem}
summary{cursor:pointer;color:var(--soft);font-size:.875rem}
.nested{border-inline-start:3px solid var(--line);padding-inline-start:.75rem}
.meanwhile{background:var(--tint);border-radius:.5rem;padding:.5rem .75rem}
.meanwhile h3{font-size:.875rem;margin:0;color:var(--soft)}
.note{color:var(--soft);font-size:.875rem}
.fault{color:var(--fault)}
.cut{border-top:1px dashed var(--line);color:var(--soft);font-size:.8rem;padding-top:.4rem;text-align:center}
.sources{font-size:.875rem;color:var(--soft)}
img{max-width:100%;height:auto;border-radius:.5rem}
audio{width:100%}
hr{border:0;border-top:1px solid var(--line)}
@media print{pre{max-height:none}details{break-inside:avoid}}
`;

export const pageStyleHash = "sha256-3eqx3ACoffV2fwWr4TiNhunCngngkUlPQCaW52sTNbI=";
