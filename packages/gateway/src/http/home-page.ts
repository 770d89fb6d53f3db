import { codexBlock } from "../codex/config-block.ts";
import type { Config } from "../config/config.ts";
import { routes } from "./routes.ts";

/** A short page that says what this is and how to connect; it holds nothing that has to be kept secret. */
export function homePage(
  config: Config,
  { url, version, firstModel }: { url: string; version: string; firstModel: string | undefined },
): string {
  // Whoever has no token need not know what is behind it.
  const isOpen = config.server.clients.length === 0;
  const model = (isOpen ? firstModel : undefined) ?? "MODEL";
  const upstreams = [...config.upstreams.values()].map(
    ({ name, speaks, profile, baseUrl }) =>
      `<tr><td>${escaped(name)}</td><td>${speaks}</td><td>${escaped(profile.name)}</td><td>${escaped(new URL(baseUrl).host)}</td></tr>`,
  );
  const served = routes.map(
    ({ method, path, summary }) =>
      `<tr><td><code>${method} ${escaped(path)}</code></td><td>${inCode(escaped(summary))}</td></tr>`,
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
<h1>Deltawire ${escaped(version)}</h1>
<p>This gateway lets any Responses or Chat client use any Chat or Responses upstream. It is running.</p>
<p>Its page with chats and approvals is not built here. In the repository <code>npm run build:page</code> builds it, and so does <code>npm start</code>.</p>
<h2>Codex</h2>
<p>Run <code>npm start -- codex</code>, or put this into <code>~/.codex/config.toml</code>:</p>
<pre>${escaped(codexBlock({ url, model, token: isOpen ? "local" : "YOUR TOKEN" }).trimEnd())}</pre>
<h2>Any OpenAI client</h2>
<pre>curl ${escaped(url)}/v1/chat/completions \\
  -H "content-type: application/json" \\
${isOpen ? "" : '  -H "authorization: Bearer YOUR TOKEN" \\\n'}  -d '{"model": "${escaped(model)}", "stream": true,
       "messages": [{"role": "user", "content": "Hello"}]}'</pre>
${isOpen ? `<h2>Upstreams</h2>\n<table><tr><th>name</th><th>speaks</th><th>profile</th><th>host</th></tr>${upstreams.join("")}</table>` : ""}
<h2>What it serves</h2>
<table>${served.join("")}</table>
</html>
`;
}

/** Backticks as the code that they mean. */
function inCode(html: string): string {
  return html.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

/** For text between tags; nothing of it stands in an attribute. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
