import { isUnspecified } from "../config/addresses.ts";
import type { Config } from "../config/config.ts";

/** A gateway of this configuration that already runs on this machine. */
export interface Running {
  url: string;
  /** Asks it with its own token. */
  ask(path: string, method?: "GET" | "DELETE"): Promise<unknown>;
}

const timeLimitMs = 2000;

export async function runningGateway({ server }: Config): Promise<Running | undefined> {
  if (server.port === 0) return undefined;
  const host = isUnspecified(server.host) ? "127.0.0.1" : server.host;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`;
  const token = server.clients[0]?.token;
  const ask: Running["ask"] = async (path, method = "GET") => {
    const headers: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(url + path, {
      method,
      headers,
      redirect: "error",
      signal: AbortSignal.timeout(timeLimitMs),
    });
    if (!answer.ok) throw new Error(`the gateway on ${url} answered ${answer.status} to ${path}`);
    return answer.json();
  };
  try {
    // Something else may live on that port, and must not get our token.
    const health = await fetch(`${url}/healthz`, {
      redirect: "error",
      signal: AbortSignal.timeout(timeLimitMs),
    });
    const body = (await health.json()) as { status?: unknown; version?: unknown };
    return body.status === "ok" && typeof body.version === "string" ? { url, ask } : undefined;
  } catch {
    return undefined; // nothing there, or nothing of ours
  }
}
