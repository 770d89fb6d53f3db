import type { EnvironmentVariables } from "./secret.ts";

/** True if Codex would use a proxy for 127.0.0.1. It does unless NO_PROXY excludes the address (seen with 0.166). */
export function usesProxyForLoopback(env: EnvironmentVariables): boolean {
  const hasProxy = proxyVariables.some(
    (name) => isSet(env[name]) || isSet(env[name.toUpperCase()]),
  );
  return hasProxy && !listProxyExceptions(env).some((host) => host === "*" || host === loopback);
}

/** Adds 127.0.0.1 to NO_PROXY and no_proxy if needed: Codex reads the former first, other programs the latter. */
export function withoutProxyForLoopback(env: EnvironmentVariables): EnvironmentVariables {
  if (!usesProxyForLoopback(env)) return env;
  const exceptions = [...listProxyExceptions(env), loopback, "localhost"].join(",");
  return { ...env, NO_PROXY: exceptions, no_proxy: exceptions };
}

const proxyVariables = ["http_proxy", "all_proxy"];
const loopback = "127.0.0.1";

function listProxyExceptions(env: EnvironmentVariables): string[] {
  const value = isSet(env["NO_PROXY"]) ? env["NO_PROXY"] : env["no_proxy"];
  return (value ?? "").split(",").flatMap((host) => host.trim() || []);
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
