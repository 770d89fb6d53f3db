import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ClientConfig } from "../config/config.ts";
import { Problem } from "../problem.ts";

/** Who a bearer token, or what stands for one, belongs to. Hashes are compared, so that neither length nor content shows in the time it takes. */
export class Tokens {
  readonly #known: { digest: Buffer; client: ClientConfig }[];

  constructor(clients: readonly ClientConfig[], standIn = (token: string): string => token) {
    this.#known = clients.map((client) => ({ digest: digestOf(standIn(client.token)), client }));
  }

  get required(): boolean {
    return this.#known.length > 0;
  }

  clientOf(token: string): ClientConfig | undefined {
    const digest = digestOf(token);
    let found: ClientConfig | undefined;
    for (const { digest: known, client } of this.#known)
      if (timingSafeEqual(known, digest)) found = client;
    return found;
  }
}

/** The token of an Authorization header, or of the header that Azure's clients use. */
export function bearerOf(headers: IncomingHttpHeaders): string {
  const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  if (given !== undefined) return given;
  const key = headers["api-key"];
  return typeof key === "string" ? key : "";
}

export function missingToken(isWrong: boolean): Problem {
  const what = isWrong
    ? "the token that was sent is none of this gateway's"
    : "this gateway wants a token";
  return new Problem(
    "missing_token",
    `${what}: send Authorization: Bearer TOKEN, with one of its configuration or of DELTAWIRE_TOKEN`,
  );
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
