import type { IncomingHttpHeaders } from "node:http";
import type { AccessKey } from "@deltawire/store";
import type { ClientConfig } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";
import { hashAccessKey, isAccessKeyToken } from "./access-key-format.ts";
import { getAccessKeyState, type AccessKeys } from "./access-keys.ts";
import { isSameOriginRequest } from "./origin-check.ts";
import { deriveSessionValue, parseSessionCookies } from "./session.ts";
import {
  createTokenError,
  parseToken,
  TokenVerifier,
  type AcceptedCredentials,
} from "./token-verifier.ts";

/** Who sent a request: a client of the configuration, or the owner of an access key. */
export type RequestClient = Pick<ClientConfig, "name" | "toolCalls" | "reasoning">;

/** The sender of a request that may be served. */
export interface Identity {
  /** Undefined if no token is required. */
  readonly client: RequestClient | undefined;
  /** "" without an access key. */
  readonly owner: string;
  readonly accessKey: AccessKey | undefined;
  /** The hash with which `accessKey` was found. */
  readonly keyHash: string | undefined;
}

export interface AuthenticatorOptions {
  clients: readonly ClientConfig[];
  /** Undefined: there are no access keys. */
  accessKeys?: AccessKeys | undefined;
  /** The token with which commands on this machine administer the gateway. */
  localToken?: string | undefined;
}

/**
 * Identifies the sender of a request by its token or the cookie of the page. If the configuration has no tokens and the store no
 * access keys, requests need neither. While it is unknown whether there are any, requests need a token of the configuration.
 */
export class Authenticator {
  readonly #tokens: TokenVerifier;
  readonly #sessions: TokenVerifier;
  readonly #localToken: TokenVerifier;
  readonly #accessKeys: AccessKeys | undefined;

  constructor({ clients, accessKeys, localToken }: AuthenticatorOptions) {
    this.#tokens = new TokenVerifier(clients);
    this.#sessions = new TokenVerifier(clients, deriveSessionValue);
    this.#localToken = new TokenVerifier(
      localToken === undefined
        ? []
        : [{ name: "local", token: localToken, toolCalls: "deltas", reasoning: "summary" }],
    );
    this.#accessKeys = accessKeys;
  }

  /** True if requests need a token, an access key or a session. */
  get isRequired(): boolean {
    return this.#tokens.isRequired || this.#accessKeys?.hasKeys === true;
  }

  get #acceptedCredentials(): AcceptedCredentials {
    if (this.#accessKeys?.hasKeys !== true) return "tokens";
    return this.#tokens.isRequired ? "tokens and keys" : "keys";
  }

  /** Returns the sender, or why the request cannot be served: 401, or 503 if access keys cannot be read. */
  async identify(headers: IncomingHttpHeaders): Promise<Identity | GatewayError> {
    const token = parseToken(headers);
    // A token takes precedence over the page's session cookie.
    if (token !== "" || !isSameOriginRequest(headers)) return this.identifyToken(token);
    let problem: GatewayError | undefined;
    for (const value of parseSessionCookies(headers)) {
      const client = this.#sessions.findClient(value);
      if (client !== undefined) return toIdentity(client);
      const sender = value === "" ? undefined : await this.#findKey(hashAccessKey(value));
      if (sender instanceof GatewayError) problem = sender;
      else if (sender !== undefined) return sender;
    }
    const anonymous = this.identifyToken("");
    return this.isRequired ? (problem ?? anonymous) : anonymous;
  }

  /** Like `identify`, for a token. "": no token was sent. */
  async identifyToken(token: string): Promise<Identity | GatewayError> {
    const client = this.#tokens.findClient(token) ?? this.#localToken.findClient(token);
    if (client !== undefined) return toIdentity(client);
    if (this.#accessKeys !== undefined && isAccessKeyToken(token))
      return (
        (await this.#findKey(hashAccessKey(token))) ??
        new GatewayError(
          "missing_token",
          `the access key ending in "${token.slice(-4)}" is unknown; it may have been removed`,
        )
      );
    if (this.isRequired) return createTokenError(token, this.#acceptedCredentials);
    if (this.#accessKeys !== undefined && this.#accessKeys.hasKeys === undefined)
      return new GatewayError(
        "store_unavailable",
        "the store cannot be read, so it is unknown whether requests need an access key; try again, or send a token of the configuration",
        { retryAfter: 5, cause: this.#accessKeys.problem },
      );
    return toIdentity(undefined);
  }

  async #findKey(keyHash: string): Promise<Identity | GatewayError | undefined> {
    let key: AccessKey | undefined;
    try {
      key = await this.#accessKeys?.find(keyHash);
    } catch (cause) {
      return new GatewayError(
        "store_unavailable",
        "the store cannot be reached, so access keys cannot be checked; try again",
        { retryAfter: 5, cause },
      );
    }
    if (key === undefined) return undefined;
    const problem = findAccessKeyProblem(key, this.#accessKeys?.getTime() ?? Date.now());
    if (problem !== undefined) return new GatewayError("missing_token", problem);
    const { name, owner } = key;
    const client = { name, toolCalls: "deltas", reasoning: "summary" } as const;
    return { client, owner, accessKey: key, keyHash };
  }
}

/** Returns why a key cannot be used, or undefined for an active one. `now`: see `AccessKeys.getTime`. */
export function findAccessKeyProblem(key: AccessKey, now: number): string | undefined {
  switch (getAccessKeyState(key, now)) {
    case "revoked":
      return `the access key "${key.name}" was revoked; use another one`;
    case "expired":
      return `the access key "${key.name}" expired on ${new Date(key.expiresAt ?? 0).toISOString()}; use another one`;
    default:
      return undefined;
  }
}

/**
 * Returns the error for requests in progress whose key has become invalid. `key`: undefined if it was removed; an active one could
 * not be checked for too long. `now`: see `AccessKeys.getTime`.
 */
export function createEndedKeyError(key: AccessKey | undefined, now: number): GatewayError {
  if (key === undefined)
    return new GatewayError(
      "key_revoked",
      "the access key of this request was removed; use another one",
    );
  const problem = findAccessKeyProblem(key, now);
  return problem === undefined
    ? new GatewayError(
        "store_unavailable",
        `the access key "${key.name}" could not be checked for a minute, because the store cannot be reached; try again`,
        { retryAfter: 5 },
      )
    : new GatewayError("key_revoked", problem);
}

function toIdentity(client: RequestClient | undefined): Identity {
  return { client, owner: "", accessKey: undefined, keyHash: undefined };
}
