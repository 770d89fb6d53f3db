/** Style sheet of an exported page. The page's content security policy contains its hash, so it is written unchanged. */
export const pageStyle = `
:root{--text:#1b1f24;--muted:#59636e;--border:#d5dae0;--background:#fff;--surface:#f4f6f8;--link:#0b57d0;--error:#b3261e}
@media (prefers-color-scheme:dark){:root{--text:#e4e7eb;--muted:#9aa4af;--border:#353c44;--background:#14171a;--surface:#1e2328;--link:#8ab4f8;--error:#f2b8b5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:48rem;padding:1rem;background:var(--background);color:var(--text);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.3;margin:.5rem 0 1.5rem}
h2{font-size:.875rem;margin:0 0 .5rem;color:var(--muted)}
h3,h4,h5,h6{font-size:1rem;margin:1.25rem 0 .5rem}
h3{font-size:1.125rem}
small{font-weight:400}
a{color:var(--link)}
section{margin:0 0 1.5rem}
section.user{background:var(--surface);border-radius:.75rem;padding:.75rem 1rem}
p,ul,ol,blockquote,pre,details{margin:.5rem 0}
.plain,.text p{white-space:pre-wrap}
ul,ol{padding-inline-start:1.5rem}
li.task{list-style:none;text-indent:-1.35em}
li.task>*{text-indent:0}
li.task>p:first-child{text-indent:-1.35em}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;overflow-wrap:normal}
th,td{border:1px solid var(--border);padding:.3rem .6rem;text-align:start;vertical-align:top}
th{background:var(--surface)}
section.user th{background:var(--background)}
.left{text-align:left}
.center{text-align:center}
.right{text-align:right}
blockquote{border-inline-start:3px solid var(--border);padding-inline-start:.75rem;color:var(--muted)}
pre,code{font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono",monospace}
code{background:var(--surface);border-radius:.25rem;padding:.1em .3em}
pre{background:var(--surface);border:1px solid var(--border);border-radius:.5rem;padding:.75rem;overflow:auto;max-height:30rem}
section.user pre{background:var(--background)}
pre code{background:none;padding:0}
details{border:1px solid var(--border);border-radius:.5rem;padding:.4rem .75rem}
summary{cursor:pointer;color:var(--muted);font-size:.875rem}
.nested{border-inline-start:3px solid var(--border);padding-inline-start:.75rem}
.steering{background:var(--surface);border-radius:.5rem;padding:.5rem .75rem}
.steering h3{font-size:.875rem;margin:0;color:var(--muted)}
.note{color:var(--muted);font-size:.875rem}
.error{color:var(--error)}
.separator{border-top:1px dashed var(--border);color:var(--muted);font-size:.8rem;padding-top:.4rem;text-align:center}
.sources{font-size:.875rem;color:var(--muted)}
img{max-width:100%;height:auto;border-radius:.5rem}
audio{width:100%}
hr{border:0;border-top:1px solid var(--border)}
@media print{pre{max-height:none}details{break-inside:avoid}}
`;

export const pageStyleHash = "sha256-s3bddr4Aqp1Tq6GZFBKGl0QD78xghTVQu0FZfZgc+So=";
