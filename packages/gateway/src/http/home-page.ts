import { formatCodexConfig } from "../codex/format-config.ts";
import type { Config } from "../config/config.ts";
import { routes } from "./routes.ts";

/** Renders the page at `/` if the web page is not built: how to connect, and the routes. It contains no secrets. */
export function renderHomePage(
  config: Config,
  { url, version, firstModel }: { url: string; version: string; firstModel: string | undefined },
): string {
  // With tokens configured, models and upstreams are not shown: this page is public.
  const isOpen = config.server.clients.length === 0;
  const model = (isOpen ? firstModel : undefined) ?? "MODEL";
  const upstreamRows = [...config.upstreams.values()].map(
    ({ name, speaks, profile, baseUrl }) =>
      `<tr><td>${escapeHtml(name)}</td><td>${speaks}</td><td>${escapeHtml(profile.name)}</td><td>${escapeHtml(new URL(baseUrl).host)}</td></tr>`,
  );
  const routeRows = routes.map(
    ({ method, path, summary }) =>
      `<tr><td><code>${method} ${escapeHtml(path)}</code></td><td>${renderCodeSpans(escapeHtml(summary))}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Deltawire</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 3rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
  pre { background: #f3f4f6; padding: 1rem; overflow-x: auto; border-radius: 6px; }
  code { font-size: 0.9em; }
  td code { white-space: nowrap; }
  table { border-collapse: collapse; width: 100%; }
  td, th { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #d9dde2; vertical-align: top; }
  @media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #14171a; } pre { background: #20252a; } td, th { border-color: #353b42; } }
</style>
<h1>Deltawire ${escapeHtml(version)}</h1>
<p>This gateway lets any Responses or Chat client use any Chat or Responses upstream. It is running.</p>
<p>The web page for chats and approvals is not built. Run <code>npm run build:page</code> or <code>npm start</code> in the repository to build it.</p>
<h2>Codex</h2>
<p>Run <code>npm start -- codex</code>, or add this to <code>~/.codex/config.toml</code>:</p>
<pre>${escapeHtml(formatCodexConfig({ url, model, token: isOpen ? "local" : "YOUR TOKEN" }).trimEnd())}</pre>
<h2>Any OpenAI client</h2>
<pre>curl ${escapeHtml(url)}/v1/chat/completions \\
  -H "content-type: application/json" \\
${isOpen ? "" : '  -H "authorization: Bearer YOUR TOKEN" \\\n'}  -d '{"model": "${escapeHtml(model)}", "stream": true,
       "messages": [{"role": "user", "content": "Hello"}]}'</pre>
${isOpen ? `<h2>Upstreams</h2>\n<table><tr><th>name</th><th>speaks</th><th>profile</th><th>host</th></tr>${upstreamRows.join("")}</table>` : ""}
<h2>Routes</h2>
<table>${routeRows.join("")}</table>
</html>
`;
}

/** Turns `text` in backticks into a code element. */
function renderCodeSpans(html: string): string {
  return html.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

/** For text between tags only, not for attribute values. */
function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
