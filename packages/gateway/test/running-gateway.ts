import { join } from "node:path";
import type { Agent } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import type { World } from "../src/config/find.ts";
import { readConfig } from "../src/config/read.ts";
import { startGateway, type Gateway } from "../src/gateway.ts";
import type { Patience } from "../src/http/server.ts";

export interface TestGateway extends Gateway {
  /** Every line that it logged. */
  lines: string[];
  /** Bearers, keys and cookies that clients sent to it. */
  sent: Set<string>;
  /** Posts JSON to a path below `/v1`. */
  post(path: string, body: unknown, options?: PostOptions): Promise<Response>;
}

export interface StartOptions {
  env?: Record<string, string>;
  beatMs?: number;
  storeAgainMs?: number;
  patience?: Patience;
  /** Where tasks and chats are stored, instead of what the configuration says. */
  store?: Store;
  /** Agents from code. */
  agents?: readonly Agent[];
  /** Where its store and its key are; in memory unless it says otherwise. */
  dataFolder?: string;
  configFile?: string;
  /** Whose Codex there is; nobody's unless it says otherwise. */
  world?: World;
  /** Where its page is; none unless it says otherwise, whether or not one is built here. */
  page?: string;
}

const noPage = join(import.meta.dirname, "no-page");

interface PostOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** A gateway on a free port with this configuration. */
export async function runningGateway(
  toml: string,
  { env = {}, ...options }: StartOptions = {},
): Promise<TestGateway> {
  const text = toml.includes("[server]") ? toml : `[server]\nport = 0\n${toml}`;
  const lines: string[] = [];
  const sent = new Set<string>();
  const gateway = await startGateway({
    config: readConfig(text, { file: "deltawire.toml", env }),
    env,
    dataFolder: undefined,
    page: noPage,
    ...options,
    logTo: { write: (line) => void lines.push(line) },
  });
  return {
    ...gateway,
    lines,
    sent,
    post(path, body, { headers: given = {}, signal } = {}) {
      const headers = {
        "content-type": "application/json",
        authorization: "Bearer bearer-of-a-client",
        ...given,
      };
      for (const secret of secretsIn(headers)) sent.add(secret);
      return fetch(`${gateway.url}/v1${path}`, {
        method: "POST",
        headers,
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      });
    },
  };
}

/** What of a client's headers nobody may repeat. */
function secretsIn(headers: Record<string, string>): string[] {
  return ["authorization", "api-key", "cookie"]
    .map((name) => headers[name]?.replace(/^Bearer +/i, "").trim() ?? "")
    .filter((secret) => secret.length > 5);
}

/** Where a secret is that should not be: keys, tokens and bearers in the log, what clients sent at an upstream. */
export function leaksOf(
  { lines, sent, config }: TestGateway,
  asked: readonly { headers: object }[] = [],
): string[] {
  const upstreams = [...config.upstreams.values()];
  const configured = [
    ...config.server.clients.map(({ token }) => token),
    ...upstreams.flatMap(({ apiKey, headers }) => [apiKey ?? [], ...Object.values(headers)].flat()),
  ];
  const found = (secrets: Iterable<string>, texts: readonly string[]): string[] =>
    [...secrets].flatMap((secret) => texts.filter((text) => text.includes(secret)));
  return [
    ...found([...configured, ...sent], lines),
    ...found(
      sent,
      asked.map(({ headers }) => JSON.stringify(headers)),
    ),
  ];
}

/** The lines of a deltawire.toml that name one upstream. */
export function upstreamToml(
  name: string,
  url: string,
  more: Record<string, string | number | string[]> = {},
): string {
  const settings = { base_url: url, speaks: "chat", ...more };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[upstreams.${name}]\n${lines.join("\n")}\n`;
}

/** The data of every event of a reply, parsed; the sentinel as it is. */
export async function eventsOf(response: Response): Promise<JsonObject[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .flatMap((block) => block.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => line.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? { done: true } : (JSON.parse(data) as JsonObject)));
}
