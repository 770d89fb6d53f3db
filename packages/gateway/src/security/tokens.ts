import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ClientConfig } from "../config/config.ts";

/** Who a bearer token belongs to. Hashes are compared, so that neither length nor content shows in the time it takes. */
export class Tokens {
  readonly #known: { digest: Buffer; client: ClientConfig }[];

  constructor(clients: readonly ClientConfig[]) {
    this.#known = clients.map((client) => ({ digest: digestOf(client.token), client }));
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

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
