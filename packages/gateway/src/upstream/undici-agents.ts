import { createRequire } from "node:module";
import type * as undici from "undici";

/*
 * The index of undici also loads fetch, WebSocket, caches and mocks, which the gateway does not use: 10 MB of resident memory
 * (test/idle-modules.test.ts). So only the files of its agents are loaded. undici has no `exports`, and its version is exact.
 */
const require = createRequire(import.meta.url);

const Agent = require("undici/lib/dispatcher/agent.js") as typeof undici.Agent;

export function createAgent(options: undici.Agent.Options): undici.Agent {
  return new Agent(options);
}

/** Connects through the proxies of `options`. Loaded on demand: most gateways have none. */
export function createProxyAgent(
  options: undici.EnvHttpProxyAgent.Options,
): undici.EnvHttpProxyAgent {
  const EnvHttpProxyAgent =
    require("undici/lib/dispatcher/env-http-proxy-agent.js") as typeof undici.EnvHttpProxyAgent;
  return new EnvHttpProxyAgent(options);
}
