import * as zlib from "node:zlib";
import { chanceFrom } from "../../../../../test/seeded-random.ts";
import { oddJson, oddRequest } from "../../../test/odd-requests.ts";
import { rightChats, rightResponses, type Json } from "../../../test/right-requests.ts";
import type { ClientRequest } from "../client.ts";
import { oddJsonTexts } from "../odd-values.ts";
import type { KnownValues } from "./known-values.ts";
import type { Api, Operation, Schema } from "./operations.ts";

export interface GeneratedRequest extends ClientRequest {
  /** `POST /api/chats/{chat}/send` */
  route: string;
  method: string;
  headers: Record<string, string>;
  /** The token's owner, and what only this client's requests say. */
  client: string;
}

export interface GeneratorOptions {
  seed: number;
  api: Api;
  known: KnownValues;
  models: readonly string[];
  agents: readonly string[];
  toolGroups: readonly string[];
  /** Tokens by the names of the clients. */
  clients: Readonly<Record<string, string>>;
}

const oddTexts = [
  "",
  " ",
  "..",
  "../../etc/passwd",
  "%00",
  "%",
  "%2F%2e%2e",
  "a/b",
  "\u0000",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "NaN",
  "-1",
  "1e9",
  "9007199254740993",
  "true",
  "[object Object]",
  "' OR 1=1 --",
  '"; DROP TABLE chats; --',
  "%_%",
  '"',
  "*",
  "a* OR b*",
  "NEAR(",
  "<script>",
  "{{var:x}}",
  "${x}",
  "\ud800",
  "\u202e",
  "👩‍👩‍👧‍👦",
  "x".repeat(300),
  "x".repeat(7000),
];

/** Requests for every route of the gateway, right ones and wrong ones. The same number of a seed is the same request. */
export class RequestGenerator {
  readonly #options: GeneratorOptions;
  #chance: () => number = () => 0;

  constructor(options: GeneratorOptions) {
    this.#options = options;
  }

  request(number: number): GeneratedRequest {
    const seed = this.#options.seed * 10_000_019 + number;
    this.#chance = chanceFrom(seed);
    const [client, token] = this.#one(Object.entries(this.#options.clients));
    const headers = this.#headers(token);
    const kind = this.#chance();
    if (kind < 0.15) return this.#wireRequest(seed, client, headers);
    if (kind < 0.3) return this.#conversation(client, headers);
    const operation = this.#one(this.#options.api.operations);
    const isOtherMethod = this.#chance() < 0.03;
    const method = isOtherMethod
      ? this.#one(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "QUERY"])
      : operation.method;
    for (const { name, in: where } of operation.parameters)
      if (where === "header" && this.#chance() < 0.3)
        headers[name] = this.#one([
          "a",
          "b",
          "0",
          "-1",
          "chats:1",
          "x".repeat(300),
          ",:,",
          "99999999",
        ]);
    const request: GeneratedRequest = {
      route: `${operation.method} ${operation.path}`,
      client,
      method,
      path: this.#path(operation),
      headers,
    };
    if (operation.body !== undefined && method !== "GET" && method !== "HEAD")
      this.#addBody(request, operation);
    if (operation.isStream) {
      if (this.#chance() < 0.3) headers["accept"] = "text/event-stream";
      // A stream may rightly go on for ever.
      Object.assign(request, { leaveAfterBytes: 1, leaveAfterMs: 1500 });
    }
    return request;
  }

  #headers(token: string): Record<string, string> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const chance = this.#chance();
    if (chance < 0.02) delete headers["authorization"];
    else if (chance < 0.04)
      headers["authorization"] = this.#one([
        "Bearer",
        "Bearer x",
        "Basic eDp5",
        `Bearer ${token}x`,
      ]);
    if (this.#chance() < 0.03)
      headers["accept"] = this.#one([
        "*/*",
        "",
        "text/html",
        "application/json;q=0",
        "x".repeat(5000),
      ]);
    if (this.#chance() < 0.03)
      headers["accept-encoding"] = this.#one([
        "gzip",
        "br;q=1.0, *;q=0",
        "identity;q=0",
        ",".repeat(5000),
        `gzip${" ".repeat(5000)}`,
      ]);
    if (this.#chance() < 0.03)
      headers["origin"] = this.#one(["null", "http://evil.example", "http://localhost"]);
    if (this.#chance() < 0.03)
      headers["range"] = this.#one(["bytes=0-", "bytes=-1", "bytes=5-2", "x", "bytes=0-0,1-1"]);
    if (this.#chance() < 0.03)
      headers["if-none-match"] = this.#one(["*", '"x"', 'W/"'.repeat(500)]);
    if (this.#chance() < 0.03)
      headers["cookie"] = this.#one(["deltawire_session=x", "a=b", ";".repeat(2000)]);
    if (this.#chance() < 0.03) headers["x-deltawire-tool-calls"] = this.#one(["whole", "x"]);
    return headers;
  }

  #path(operation: Operation): string {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = this.#chance() < 0.75 ? this.#named(name) : this.#one(oddTexts);
      return safeEncode(`${value ?? this.#one(oddTexts)}`);
    });
    const query = operation.parameters
      .filter((one) => one.in === "query" && this.#chance() < 0.5)
      .map(({ name, schema }) => {
        const value = this.#chance() < 0.6 ? this.#sample(name, schema, 2) : this.#one(oddTexts);
        return `${name}=${safeEncode(typeof value === "string" ? value : JSON.stringify(value ?? ""))}`;
      });
    if (this.#chance() < 0.03)
      query.push(this.#one(["x=y", "&&", "=", "limit=1&limit=2", "a[]=1", "q=1&".repeat(500)]));
    return query.length === 0 ? path : `${path}?${query.join("&")}`;
  }

  #addBody(request: GeneratedRequest, { body }: Operation): void {
    if (body === undefined) return;
    const { headers } = request;
    if (body.type === "*/*") {
      headers["content-type"] = this.#one([
        "image/png",
        "text/plain",
        "application/pdf",
        "x",
        "",
        "text/html; charset=utf-16",
      ]);
      request.body = this.#one<string | Uint8Array>([
        "",
        "text",
        Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
        "%PDF-1.4",
        Buffer.alloc(100_000, 200),
      ]);
      return;
    }
    if (body.type.startsWith("multipart/")) {
      const line = "----x";
      headers["content-type"] = `multipart/form-data; boundary=${line}`;
      request.body = this.#textChanges(
        `--${line}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${this.#one(this.#options.models)}\r\n--${line}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nbytes\r\n--${line}--\r\n`,
      );
      return;
    }
    headers["content-type"] =
      this.#chance() < 0.97
        ? "application/json"
        : this.#one(["text/plain", "", "application/json; charset=utf-16"]);
    let value = this.#sample("", body.schema, 6) as Json;
    if (request.path.startsWith("/v1/"))
      value = { ...(value as object), input: ["a"], prompt: "x" };
    const changes = Math.floor(this.#chance() * 3);
    for (let change = 0; change < changes; change += 1) value = oddJson(this.#chance, value);
    request.body = this.#textChanges(JSON.stringify(value) ?? "null");
    this.#packed(request);
  }

  /** Now and then what no JSON value can say. */
  #textChanges(text: string): string {
    const chance = this.#chance();
    if (chance > 0.12) return text;
    if (chance < 0.03) return text.slice(0, Math.floor(this.#chance() * text.length));
    if (chance < 0.06)
      return text.replace(/"(?:[^"\\]|\\.)*"(?=[,}\]])/, () =>
        this.#one(oddJsonTexts.slice(0, -1)),
      );
    if (chance < 0.08)
      return text.replace(/"(?:[^"\\]|\\.)*"(?=[,}\]])/, () => `"${"y".repeat(200_000)}"`);
    if (chance < 0.1) return text.replace("{", () => '{"__proto__":{"a":1},"constructor":{},');
    return text.repeat(2);
  }

  #packed(request: GeneratedRequest): void {
    const chance = this.#chance();
    if (chance > 0.05 || request.body === undefined) return;
    const encoding = this.#one(["gzip", "zstd", "br", "deflate", "x"]);
    request.headers["content-encoding"] = encoding;
    if (encoding === "gzip" && chance < 0.03) request.body = zlib.gzipSync(request.body);
    if (encoding === "zstd" && chance < 0.03) request.body = zlib.zstdCompressSync(request.body);
  }

  /** What the tests of odd requests send to the routes of models. */
  #wireRequest(seed: number, client: string, headers: Record<string, string>): GeneratedRequest {
    const { path, method, body, ...odd } = oddRequest(seed, this.#options.models);
    delete odd.headers["authorization"];
    return {
      route: `POST ${path.replace(/\/$/, "")}`,
      client,
      method,
      path,
      body,
      headers: { ...headers, ...odd.headers },
    };
  }

  /** One of the conversations of a client, with ids that others have too, and words that nobody else may get. */
  #conversation(client: string, headers: Record<string, string>): GeneratedRequest {
    const words = `The secret of ${client} is ${markerOf(client)}. ${this.#one(["a", "b", "c"])}`;
    const id = this.#one(["call_0", "functions.f:0", "call_111111"]);
    const model = this.#one(this.#options.models);
    const stream = this.#chance() < 0.5;
    const isChat = this.#chance() < 0.5;
    const goesOn = this.#chance() < 0.6;
    const right = isChat ? this.#one(rightChats) : this.#one(rightResponses);
    const asChat = {
      messages: [
        { role: "user", content: words },
        ...(goesOn
          ? [
              {
                role: "assistant",
                content: null,
                tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
              },
              { role: "tool", tool_call_id: id, content: "r" },
            ]
          : []),
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    };
    const asResponses = {
      input: [
        { role: "user", content: words },
        ...(goesOn
          ? [
              { type: "function_call", call_id: id, name: "f", arguments: "{}" },
              { type: "function_call_output", call_id: id, output: "r" },
            ]
          : []),
      ],
      tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
    };
    const body = {
      model,
      stream,
      ...(this.#chance() < 0.2 ? right : {}),
      ...(isChat ? asChat : asResponses),
    };
    const path = isChat ? "/v1/chat/completions" : "/v1/responses";
    return {
      route: `POST ${path}`,
      client,
      method: "POST",
      path,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
  }

  /** A value that fits a schema. */
  #sample(name: string, schema: Schema, depth: number): unknown {
    const { $ref, anyOf, oneOf, allOf, type } = schema;
    if (typeof $ref === "string") {
      const named = this.#options.api.schemas[$ref.replace("#/components/schemas/", "")];
      return this.#sample(name, named ?? {}, depth);
    }
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return this.#one(schema["enum"] as unknown[]);
    const alternatives = anyOf ?? oneOf;
    if (Array.isArray(alternatives) && schema["properties"] === undefined)
      return this.#sample(name, this.#one(alternatives as Schema[]), depth);
    if (Array.isArray(allOf))
      return Object.assign(
        {},
        ...(allOf as Schema[]).map((each) => this.#sample(name, each, depth)),
      ) as unknown;
    switch (this.#one([type ?? "object"].flat() as string[])) {
      case "string":
        return this.#named(name) ?? this.#one(["a", "Hello", "words and more words", ...oddTexts]);
      case "integer":
      case "number":
        return this.#named(name) ?? Number(schema["minimum"] ?? 0) + Math.floor(this.#chance() * 5);
      case "boolean":
        return this.#chance() < 0.5;
      case "null":
        return null;
      case "array":
        return this.#list(schema, depth, name);
      default:
        return this.#object(schema, depth);
    }
  }

  #list({ items, minItems }: Schema, depth: number, name: string): unknown[] {
    const count = Math.max(Number(minItems ?? 0), depth <= 0 ? 0 : Math.floor(this.#chance() * 3));
    const singular = name === "tool_groups" ? "tool_group" : name;
    return Array.from({ length: count }, () =>
      this.#sample(singular, (items ?? {}) as Schema, depth - 1),
    );
  }

  #object({ properties = {}, required = [], oneOf }: Schema, depth: number): object {
    const demanded = Array.isArray(oneOf)
      ? (this.#one(oneOf as { required?: string[] }[]).required ?? [])
      : [];
    const others = Array.isArray(oneOf)
      ? (oneOf as { required?: string[] }[]).flatMap((one) => one.required ?? [])
      : [];
    const isGiven = (name: string): boolean => {
      if ((required as string[]).includes(name) || demanded.includes(name)) return true;
      if (others.includes(name) || depth <= 0) return false;
      return this.#chance() < 0.3;
    };
    return Object.fromEntries(
      Object.entries(properties as Record<string, Schema>)
        .filter(([name]) => isGiven(name))
        .map(([name, each]) => [name, this.#sample(name, each, depth - 1)]),
    );
  }

  /** A value that exists, by the name of a field or a parameter. */
  #named(name: string): string | number | undefined {
    const { known, models, agents, toolGroups, clients } = this.#options;
    switch (name) {
      case "model":
      case "title_model":
        return this.#one(models);
      case "agent":
        return this.#one(agents);
      case "tool_group":
        return this.#one(toolGroups);
      case "token":
        // Wrong ones are slowed down, which is measured elsewhere.
        return this.#one(Object.values(clients));
      case "chat":
        return known.pick("chat_id", this.#chance());
      case "task":
        return known.pick("task_id", this.#chance());
      case "approval":
        return known.pick("approval_id", this.#chance());
      case "parent":
      case "after":
        return known.pick("node_id", this.#chance());
      case "before":
        return known.pick("next_before", this.#chance());
      case "url": {
        const hash = known.pick("hash", this.#chance());
        return hash === undefined ? "data:text/plain;base64,YQ==" : `/api/blobs/${hash}`;
      }
      case "pattern":
        return this.#one(["\\w+\\d", "^(a+)+$", "(x|x)*y", "[", "a{1,5}", "\\d{3}-\\d{4}"]);
      default:
        return known.pick(name, this.#chance());
    }
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }
}

/** What only the requests of this client say. */
export function markerOf(client: string): string {
  return `marker-of-${client}-only`;
}

/** Lone surrogates cannot be encoded. */
function safeEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
