import { resolveDataFolder, type HostEnvironment } from "../config/config-paths.ts";
import { isUnspecified } from "../config/host-addresses.ts";
import type { Config } from "../config/config.ts";
import { getVariable } from "../config/secret.ts";
import { readLocalToken } from "../security/local-token.ts";

/** A gateway that is already running on this machine at the configured address. */
export interface RunningGateway {
  url: string;
  /** Authenticates the requests: a configured token, DELTAWIRE_TOKEN, or the token for commands on this machine. */
  token: string | undefined;
  /** Sends an authenticated request and returns the JSON body. Throws an Error with a `code` if the status is not 2xx. */
  request(
    path: string,
    options?: { method?: "GET" | "POST" | "DELETE"; body?: object },
  ): Promise<unknown>;
}

/** The running gateway has rejected a request. */
export class GatewayRequestError extends Error {
  readonly code = "gateway_request_failed";
  /** The gateway's own message. */
  readonly gatewayMessage: string | undefined;

  constructor(message: string, gatewayMessage?: string) {
    super(message);
    this.gatewayMessage = gatewayMessage;
  }
}

const timeoutMs = 2000;

/**
 * Returns undefined if no gateway responds at the configured address. `dataFlag`: the value of `--data`, the folder of its local
 * token, which authenticates requests if there is no other token.
 */
export async function findRunningGateway(
  { server }: Config,
  dataFlag: string | undefined,
  host: HostEnvironment,
): Promise<RunningGateway | undefined> {
  if (server.port === 0) return undefined;
  const address = isUnspecified(server.host) ? "127.0.0.1" : server.host;
  const url = `http://${address.includes(":") ? `[${address}]` : address}:${server.port}`;
  const token =
    server.clients[0]?.token ??
    getVariable("DELTAWIRE_TOKEN", host.env) ??
    readLocalToken({
      sealingKey: server.sealingKey,
      dataFolder: resolveDataFolder(dataFlag, host),
    });
  try {
    // Sent without the token: another program may listen on that port.
    const health = await fetch(`${url}/healthz`, {
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = (await health.json()) as { status?: unknown; version?: unknown };
    return body.status === "ok" && typeof body.version === "string"
      ? { url, token, request: createGatewayRequest(url, token) }
      : undefined;
  } catch {
    return undefined; // no program listens there, or it is not a gateway
  }
}

/** Returns a function that sends requests with this token. */
export function createGatewayRequest(
  url: string,
  token: string | undefined,
): RunningGateway["request"] {
  return async (path, { method = "GET", body } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) throw await toRequestError(response, `${method} ${url}${path}`);
    return response.status === 204 ? {} : response.json();
  };
}

async function toRequestError(response: Response, request: string): Promise<GatewayRequestError> {
  const text = await response.text();
  let message: unknown;
  try {
    message = (JSON.parse(text) as { error?: { message?: unknown } }).error?.message;
  } catch {
    // Not an error of a gateway.
  }
  if (response.status === 401)
    return new GatewayRequestError(
      `${request} failed with status 401, because the gateway expects another token; pass its folder with --data, or set DELTAWIRE_TOKEN to one of its tokens or to an access key`,
    );
  const problem = `${request} failed with status ${response.status}`;
  return typeof message === "string"
    ? new GatewayRequestError(`${problem}: ${message}`, message)
    : new GatewayRequestError(problem);
}
