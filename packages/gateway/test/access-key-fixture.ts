import { openStore, type Store } from "@deltawire/store";
import { createAccessKey, type NewAccessKeyBody } from "../src/security/manage-access-keys.ts";
import { deriveSessionValue } from "../src/security/session.ts";
import { testGateway } from "./gateway-fixture.ts";
import type { TestGateway, TestGatewayOptions } from "./test-gateway.ts";

/** What a request returned. `body` is parsed JSON, or text. */
interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** Sends the requests of one access key. */
export interface KeyClient {
  readonly key: string;
  readonly name: string;
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  uploadForm(path: string, form: FormData): Promise<Reply>;
}

export function createKeyClient(url: string, key: string, name = ""): KeyClient {
  const authorization = `Bearer ${key}`;
  return {
    key,
    name,
    async request(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      return readReply(response);
    },
    async uploadForm(path, form) {
      const headers = { authorization };
      return readReply(await fetch(url + path, { method: "POST", headers, body: form }));
    },
  };
}

async function readReply(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, body: parseJsonOrText(text), headers: response.headers };
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export interface KeyGatewayFixture {
  readonly gateway: TestGateway;
  readonly store: Store;
  /** Creates a key in the store. */
  createClient: (body: NewAccessKeyBody) => Promise<KeyClient>;
}

/** A gateway with the demo model, and a store in memory in which keys can be created. `chats`: settings of chats. */
export async function keyGatewayFixture(
  toml = "",
  { chats = "titles = false", ...options }: TestGatewayOptions & { chats?: string } = {},
): Promise<KeyGatewayFixture> {
  const store = await openStore({ path: ":memory:" });
  const gateway = await testGateway(
    `[server]\nport = 0\ndemo = true\n${toml}\n[chats]\n${chats}\n`,
    { ...options, store },
  );
  return {
    gateway,
    store,
    async createClient(body) {
      const client = await createClientIn(store, gateway.url, body);
      // After each test, the log and the requests to upstreams are searched for them.
      gateway.sentSecrets.add(client.key).add(deriveSessionValue(client.key));
      return client;
    },
  };
}

export async function createClientIn(
  store: Store,
  url: string,
  body: NewAccessKeyBody,
): Promise<KeyClient> {
  const { key, name } = await createAccessKey(body, store);
  return createKeyClient(url, key, name);
}
