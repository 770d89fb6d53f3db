import { Status } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import type { McpStatus } from "./gateway-status.ts";
import { upstreamWords } from "./words.ts";

/** The configured servers of tools, with what is known to be wrong with them. */
export function McpServers({ servers }: { servers: readonly McpStatus[] }) {
  const words = useWords(upstreamWords);
  if (servers.length === 0) return null;
  return (
    <section className="upstreams-card" aria-label={words.mcp}>
      <header>
        <h2>{words.mcp}</h2>
      </header>
      <ul className="upstreams-models">
        {servers.map(({ name, problem }) => (
          <li key={name}>
            <code>{name}</code>
            <Status
              kind={problem === undefined ? "ok" : "failed"}
              label={problem === undefined ? words.mcpConfigured : words.mcpMissing}
            />
            {problem !== undefined && (
              <p className="upstreams-problem" dir="auto">
                {problem}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
