import type { Environment } from "./secret.ts";

/** Whether Codex would ask a proxy for 127.0.0.1: it does, unless NO_PROXY says otherwise (seen with 0.166). */
export function goesThroughProxy(env: Environment): boolean {
  const hasProxy = proxyVariables.some((name) => isSet(env[name]) || isSet(env[upper(name)]));
  return hasProxy && !exceptions(env).some((host) => host === "*" || host === loopback);
}

/** An environment in which it does not. Of the two spellings Codex reads NO_PROXY first, other programs no_proxy. */
export function withoutProxyForLoopback(env: Environment): Environment {
  if (!goesThroughProxy(env)) return env;
  const all = [...exceptions(env), loopback, "localhost"].join(",");
  return { ...env, NO_PROXY: all, no_proxy: all };
}

const proxyVariables = ["http_proxy", "all_proxy"];
const loopback = "127.0.0.1";

function exceptions(env: Environment): string[] {
  const named = isSet(env["NO_PROXY"]) ? env["NO_PROXY"] : env["no_proxy"];
  return (named ?? "").split(",").flatMap((host) => host.trim() || []);
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

function upper(name: string): string {
  return name.toUpperCase();
}
