import { checkBaseUrl } from "../config/base-url.ts";
import { isTable, type Table } from "../config/decode.ts";
import { ConfigError } from "../config/problems.ts";
import { readConfig } from "../config/read.ts";
import type { Environment } from "../config/secret.ts";
import type { NamedUpstream } from "./moved-upstream.ts";
import { MigrationError } from "./problem.ts";
import { tomlInlineTable, tomlKey, tomlString } from "./toml-text.ts";

export interface GatewayFile {
  /** For messages. */
  readonly file: string;
  /** Undefined if there is none. */
  readonly text: string | undefined;
}

/** deltawire.toml with more upstreams at its end; made, if there was none. The gateway's own reader has accepted it. */
export function withUpstreams(
  { file, text }: GatewayFile,
  upstreams: readonly NamedUpstream[],
  env: Environment,
): string | undefined {
  if (upstreams.length === 0) return text;
  const blocks = upstreams.map((upstream) => `${linesOf(upstream).join("\n")}\n`).join("\n");
  const added = text === undefined ? `${firstLine}\n\n${blocks}` : appended(text, blocks);
  const before = problemsIn(text ?? "", file, env);
  const problems = problemsIn(added, file, env).filter((problem) => !before.includes(problem));
  if (problems.length > 0)
    throw new MigrationError(`What would be written cannot be used:\n${problems.join("\n")}`);
  return added;
}

const firstLine = "# Made from a Codex configuration by `deltawire migrate`.";

function linesOf(upstream: NamedUpstream): string[] {
  const { headers, query, models, idleTimeoutSeconds, retries } = upstream;
  const lines = [
    `[upstreams.${tomlKey(upstream.name)}]`,
    `base_url = ${tomlString(upstream.baseUrl)}`,
  ];
  if (upstream.keyVariable !== undefined) {
    const instructions = upstream.keyInstructions?.split(/\s*[\r\n]+\s*/) ?? [];
    lines.push(...instructions.map((line) => `# ${line}`));
    lines.push(`api_key = ${tomlString(`env:${upstream.keyVariable}`)}`);
  }
  lines.push('speaks = "chat"');
  if (upstream.profile !== undefined) lines.push(`profile = ${tomlString(upstream.profile)}`);
  if (headers.size > 0) lines.push(`headers = ${tomlInlineTable(headers)}`);
  if (query.size > 0) lines.push(`query = ${tomlInlineTable(query)}`);
  if (idleTimeoutSeconds !== undefined) lines.push(`idle_timeout_seconds = ${idleTimeoutSeconds}`);
  if (retries !== undefined) lines.push(`retries = ${retries}`);
  if (models.length > 0)
    lines.push(`models = [${models.map((model) => tomlString(model)).join(", ")}]`);
  return lines;
}

function appended(text: string, blocks: string): string {
  if (text.trim() === "") return text + blocks;
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text.endsWith("\n") ? lineEnd : lineEnd.repeat(2);
  return text + gap + blocks.replaceAll("\n", lineEnd);
}

function problemsIn(text: string, file: string, env: Environment): readonly string[] {
  try {
    readConfig(text, { file, env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Names for upstreams beside those that deltawire.toml has. */
export class UpstreamNames {
  /** Addresses by name; undefined for a name that cannot be shared. */
  readonly #taken = new Map<string, string | undefined>([["demo", undefined]]);

  constructor(gateway: Table) {
    for (const [name, table] of tablesIn(gateway["upstreams"]))
      this.#taken.set(name, addressOf(table));
    for (const [name] of tablesIn(gateway["model_providers"])) this.#taken.set(name, undefined);
  }

  /** The first of `zai`, `zai-2`… that is free, or stands for the same address already. */
  nameFor(id: string, address: string): { name: string; isThere: boolean } {
    const plain = id.replaceAll(/[^\w.-]+/g, "-");
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? plain : `${plain}-${count}`;
      const isThere = this.#taken.get(name) === address;
      if (this.#taken.has(name) && !isThere) continue;
      this.#taken.set(name, undefined);
      return { name, isThere };
    }
  }
}

function tablesIn(value: unknown): [string, Table][] {
  return Object.entries(isTable(value) ? value : {}).map(([name, table]) => [
    name,
    isTable(table) ? table : {},
  ]);
}

function addressOf(table: Table): string | undefined {
  const address = checkBaseUrl(String(table["base_url"]));
  return "url" in address ? address.url : undefined;
}

/** How Codex is let in: with a bearer that says nothing, or by the token that deltawire.toml asks for. */
export type Bearer = { readonly word: string } | { readonly variable: string };

export function bearerFor(gateway: Table): Bearer {
  const server = isTable(gateway["server"]) ? gateway["server"] : {};
  const listed: unknown[] = Array.isArray(server["tokens"]) ? server["tokens"] : [];
  const tokens = [...listed, ...tablesIn(gateway["clients"]).map(([, table]) => table["token"])];
  if (tokens.length === 0) return { word: "local" };
  const variables = tokens.flatMap((token) =>
    typeof token === "string" && token.startsWith("env:") ? [token.slice("env:".length)] : [],
  );
  return { variable: variables[0] ?? "DELTAWIRE_TOKEN" };
}
