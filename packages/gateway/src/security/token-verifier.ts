import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ClientConfig } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";

/**
 * Finds the client of a token, or of a value derived from the token by `transform`. Compares hashes, so that timing reveals
 * neither length nor content.
 */
export class TokenVerifier {
  readonly #digests: { digest: Buffer; client: ClientConfig }[];

  constructor(clients: readonly ClientConfig[], transform = (token: string): string => token) {
    this.#digests = clients.map((client) => ({
      digest: hashToken(transform(client.token)),
      client,
    }));
  }

  get isRequired(): boolean {
    return this.#digests.length > 0;
  }

  findClient(token: string): ClientConfig | undefined {
    const digest = hashToken(token);
    let match: ClientConfig | undefined;
    for (const { digest: knownDigest, client } of this.#digests)
      if (timingSafeEqual(knownDigest, digest)) match = client;
    return match;
  }
}

/** Returns the token of the Authorization header, of `api-key` (Azure's clients) or of `x-api-key`; "" if there is none. */
export function parseToken(headers: IncomingHttpHeaders): string {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return bearer;
  const key = headers["api-key"] ?? headers["x-api-key"];
  return typeof key === "string" ? key : "";
}

/** What clients may send: tokens of the configuration, or access keys. */
export type AcceptedCredentials = "tokens" | "tokens and keys" | "keys";

/** Creates the error for a missing or wrong token. `token`: "" if none was sent. */
export function createTokenError(token: string, accepted: AcceptedCredentials): GatewayError {
  if (accepted === "keys")
    return new GatewayError(
      "missing_token",
      token === ""
        ? `this gateway requires an access key since its first one was created; ${keyAdvice}`
        : `the token is not an access key of this gateway; ${keyAdvice}`,
    );
  const problem =
    token === ""
      ? "this gateway requires a token"
      : "the token is not one of this gateway's tokens";
  const alternative = accepted === "tokens" ? "" : "an access key, ";
  return new GatewayError(
    "missing_token",
    `${problem}; send "Authorization: Bearer TOKEN" with ${alternative}a configured token or the value of DELTAWIRE_TOKEN`,
  );
}

const keyAdvice =
  'create one with "keys create NAME" on its machine and send it as "Authorization: Bearer KEY", or set server.tokens and send one of them';

function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
