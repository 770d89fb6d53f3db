import * as zlib from "node:zlib";
import { assertNever } from "@deltawire/tasks";
import { createSeededRandom } from "../../../../../test/seeded-random.ts";
import { malformJson, createMalformedRequest } from "../../../test/malformed-requests.ts";
import {
  validChatRequests,
  validMessagesRequests,
  validResponsesRequests,
  type Json,
} from "../../../test/valid-requests.ts";
import type { ClientRequest } from "../client.ts";
import { malformedJsonTexts } from "../malformed-values.ts";
import { wirePaths, wires, type Wire } from "../wires.ts";
import type { KnownValues } from "./known-values.ts";
import { createMessagesBody } from "./messages-requests.ts";
import type { Api, Operation, Schema } from "./operations.ts";

export interface GeneratedRequest extends ClientRequest {
  /** `POST /api/chats/{chat}/send` */
  route: string;
  method: string;
  headers: Record<string, string>;
  /** The client's name, and a marker that only its requests contain. */
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
  /** The only route to generate requests for, such as `/v1/messages`. Default: all. */
  route?: string | undefined;
}

const validRequests: Readonly<Record<Wire, readonly { [name: string]: Json }[]>> = {
  chat: validChatRequests,
  responses: validResponsesRequests,
  messages: validMessagesRequests,
};

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

/** Valid and invalid requests for every route of the gateway. The same number of a seed is the same request. */
export class RequestGenerator {
  readonly #options: GeneratorOptions;
  readonly #operations: readonly Operation[];
  #chance: () => number = () => 0;

  constructor(options: GeneratorOptions) {
    this.#options = options;
    const { api, route } = options;
    this.#operations = api.operations.filter(({ path }) => route === undefined || path === route);
    if (this.#operations.length === 0) throw new TypeError(`no operation has the path ${route}`);
  }

  request(number: number): GeneratedRequest {
    const seed = this.#options.seed * 10_000_019 + number;
    this.#chance = createSeededRandom(seed);
    const [client, token] = this.#pickOne(Object.entries(this.#options.clients));
    const headers = this.#createHeaders(token);
    const { route } = this.#options;
    const wire = wires.find((candidate) => wirePaths[candidate] === route);
    const kind = this.#chance() * (wire === undefined ? 1 : 0.4);
    if (kind < 0.15) return this.#createWireRequest(seed, client, headers);
    if (kind < 0.25 && (route === undefined || wire !== undefined))
      return this.#createConversation(client, headers, wire ?? this.#pickOne(wires));
    if (kind < 0.35 && (route === undefined || wire === "messages"))
      return this.#createMessagesRequest(client, headers);
    const operation = this.#pickOne(this.#operations);
    const isOtherMethod = this.#chance() < 0.03;
    const method = isOtherMethod
      ? this.#pickOne(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "QUERY"])
      : operation.method;
    for (const { name, in: where } of operation.parameters)
      if (where === "header" && this.#chance() < 0.3)
        headers[name] = this.#pickOne([
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
      path: this.#createPath(operation),
      headers,
    };
    if (operation.body !== undefined && method !== "GET" && method !== "HEAD")
      this.#addBody(request, operation);
    if (operation.isStream) {
      if (this.#chance() < 0.3) headers["accept"] = "text/event-stream";
      // A stream may legitimately never end.
      Object.assign(request, { leaveAfterBytes: 1, leaveAfterMs: 1500 });
    }
    return request;
  }

  #createHeaders(token: string): Record<string, string> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const chance = this.#chance();
    if (chance < 0.02) delete headers["authorization"];
    else if (chance < 0.04)
      headers["authorization"] = this.#pickOne([
        "Bearer",
        "Bearer x",
        "Basic eDp5",
        `Bearer ${token}x`,
      ]);
    if (this.#chance() < 0.03)
      headers["accept"] = this.#pickOne([
        "*/*",
        "",
        "text/html",
        "application/json;q=0",
        "x".repeat(5000),
      ]);
    if (this.#chance() < 0.03)
      headers["accept-encoding"] = this.#pickOne([
        "gzip",
        "br;q=1.0, *;q=0",
        "identity;q=0",
        ",".repeat(5000),
        `gzip${" ".repeat(5000)}`,
      ]);
    if (this.#chance() < 0.03)
      headers["origin"] = this.#pickOne(["null", "http://evil.example", "http://localhost"]);
    if (this.#chance() < 0.03)
      headers["range"] = this.#pickOne(["bytes=0-", "bytes=-1", "bytes=5-2", "x", "bytes=0-0,1-1"]);
    if (this.#chance() < 0.03)
      headers["if-none-match"] = this.#pickOne(["*", '"x"', 'W/"'.repeat(500)]);
    if (this.#chance() < 0.03)
      headers["cookie"] = this.#pickOne(["deltawire_session=x", "a=b", ";".repeat(2000)]);
    if (this.#chance() < 0.03)
      headers["x-deltawire-tool-calls"] = this.#pickOne(["complete", "whole", "x"]);
    return headers;
  }

  #createPath(operation: Operation): string {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = this.#chance() < 0.75 ? this.#pickKnownValue(name) : this.#pickOne(oddTexts);
      return safeEncode(`${value ?? this.#pickOne(oddTexts)}`);
    });
    const query = operation.parameters
      .filter((parameter) => parameter.in === "query" && this.#chance() < 0.5)
      .map(({ name, schema }) => {
        const value =
          this.#chance() < 0.6 ? this.#createSample(name, schema, 2) : this.#pickOne(oddTexts);
        return `${name}=${safeEncode(typeof value === "string" ? value : JSON.stringify(value ?? ""))}`;
      });
    if (this.#chance() < 0.03)
      query.push(this.#pickOne(["x=y", "&&", "=", "limit=1&limit=2", "a[]=1", "q=1&".repeat(500)]));
    return query.length === 0 ? path : `${path}?${query.join("&")}`;
  }

  #addBody(request: GeneratedRequest, { body }: Operation): void {
    if (body === undefined) return;
    const { headers } = request;
    if (body.type === "*/*") {
      headers["content-type"] = this.#pickOne([
        "image/png",
        "text/plain",
        "application/pdf",
        "x",
        "",
        "text/html; charset=utf-16",
      ]);
      request.body = this.#pickOne<string | Uint8Array>([
        "",
        "text",
        Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
        "%PDF-1.4",
        Buffer.alloc(100_000, 200),
      ]);
      return;
    }
    if (body.type.startsWith("multipart/")) {
      const boundary = "----x";
      headers["content-type"] = `multipart/form-data; boundary=${boundary}`;
      request.body = this.#malformText(
        `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${this.#pickOne(this.#options.models)}\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nbytes\r\n--${boundary}--\r\n`,
      );
      return;
    }
    headers["content-type"] =
      this.#chance() < 0.97
        ? "application/json"
        : this.#pickOne(["text/plain", "", "application/json; charset=utf-16"]);
    let value = this.#createSample("", body.schema, 6) as Json;
    if (request.path.startsWith("/v1/"))
      value = { ...(value as object), input: ["a"], prompt: "x" };
    const changes = Math.floor(this.#chance() * 3);
    for (let change = 0; change < changes; change += 1) value = malformJson(this.#chance, value);
    request.body = this.#malformText(JSON.stringify(value) ?? "null");
    this.#compress(request);
  }

  /** Sometimes changes the text so that no JSON value can produce it. */
  #malformText(text: string): string {
    const chance = this.#chance();
    if (chance > 0.12) return text;
    if (chance < 0.03) return text.slice(0, Math.floor(this.#chance() * text.length));
    if (chance < 0.06)
      return text.replace(/"(?:[^"\\]|\\.)*"(?=[,}\]])/, () =>
        this.#pickOne(malformedJsonTexts.slice(0, -1)),
      );
    if (chance < 0.08)
      return text.replace(/"(?:[^"\\]|\\.)*"(?=[,}\]])/, () => `"${"y".repeat(200_000)}"`);
    if (chance < 0.1) return text.replace("{", () => '{"__proto__":{"a":1},"constructor":{},');
    return text.repeat(2);
  }

  #compress(request: GeneratedRequest): void {
    const chance = this.#chance();
    if (chance > 0.05 || request.body === undefined) return;
    const encoding = this.#pickOne(["gzip", "zstd", "br", "deflate", "x"]);
    request.headers["content-encoding"] = encoding;
    if (encoding === "gzip" && chance < 0.03) request.body = zlib.gzipSync(request.body);
    if (encoding === "zstd" && chance < 0.03) request.body = zlib.zstdCompressSync(request.body);
  }

  /** Creates one of the malformed requests of the tests, for the model routes. */
  #createWireRequest(
    seed: number,
    client: string,
    headers: Record<string, string>,
  ): GeneratedRequest {
    const { path, method, body, ...malformedRequest } = createMalformedRequest(
      seed,
      this.#options.models,
      this.#options.route,
    );
    delete malformedRequest.headers["authorization"];
    return {
      route: `POST ${path.replace(/\/$/, "")}`,
      client,
      method,
      path,
      body,
      headers: { ...headers, ...malformedRequest.headers },
    };
  }

  /** Creates a conversation with ids that other clients use too, and text that no other client may receive. */
  #createConversation(
    client: string,
    headers: Record<string, string>,
    wire: Wire,
  ): GeneratedRequest {
    const userText = this.#createUserText(client);
    const id = this.#pickOne(["call_0", "functions.f:0", "call_111111"]);
    const hasCall = this.#chance() < 0.6;
    const validBody = this.#pickOne(validRequests[wire]);
    const body = {
      model: this.#pickOne(this.#options.models),
      stream: this.#chance() < 0.5,
      ...(this.#chance() < 0.2 ? validBody : {}),
      ...this.#buildConversation(wire, userText, hasCall ? id : undefined),
    };
    return this.#buildWireRequest(wire, client, headers, body);
  }

  #createUserText(client: string): string {
    return `The secret of ${client} is ${createMarker(client)}. ${this.#pickOne(["a", "b", "c"])}`;
  }

  #buildWireRequest(
    wire: Wire,
    client: string,
    headers: Record<string, string>,
    body: object,
  ): GeneratedRequest {
    const path = wirePaths[wire];
    const { authorization = "" } = headers;
    // Both ways are valid for a client of the Messages API.
    const usesApiKey = wire === "messages" && authorization !== "" && this.#chance() < 0.5;
    const credentials = usesApiKey
      ? { authorization: undefined, "x-api-key": authorization.replace("Bearer ", "") }
      : {};
    const wireHeaders: Record<string, string | undefined> = {
      ...headers,
      ...credentials,
      "content-type": "application/json",
    };
    return {
      route: `POST ${path}`,
      client,
      method: "POST",
      path,
      headers: Object.fromEntries(
        Object.entries(wireHeaders).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value]],
        ),
      ),
      body: JSON.stringify(body),
    };
  }

  /** Builds the fields of a conversation, in which a tool was called if `callId` is given. */
  #buildConversation(wire: Wire, userText: string, callId: string | undefined): object {
    const user = { role: "user", content: userText };
    switch (wire) {
      case "chat":
        return {
          messages: [
            user,
            ...(callId === undefined
              ? []
              : [
                  {
                    role: "assistant",
                    content: null,
                    tool_calls: [
                      { id: callId, type: "function", function: { name: "f", arguments: "{}" } },
                    ],
                  },
                  { role: "tool", tool_call_id: callId, content: "r" },
                ]),
          ],
          tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
        };
      case "responses":
        return {
          input: [
            user,
            ...(callId === undefined
              ? []
              : [
                  { type: "function_call", call_id: callId, name: "f", arguments: "{}" },
                  { type: "function_call_output", call_id: callId, output: "r" },
                ]),
          ],
          tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
        };
      case "messages":
        return {
          max_tokens: 2000,
          messages: [
            user,
            ...(callId === undefined
              ? []
              : [
                  {
                    role: "assistant",
                    content: [{ type: "tool_use", id: callId, name: "f", input: {} }],
                  },
                  {
                    role: "user",
                    content: [{ type: "tool_result", tool_use_id: callId, content: "r" }],
                  },
                ]),
          ],
          tools: [{ name: "f", input_schema: { type: "object" } }],
        };
      default:
        return assertNever(wire);
    }
  }

  /** Creates a request of the Messages API with unusual contents, and sometimes with malformed fields. */
  #createMessagesRequest(client: string, headers: Record<string, string>): GeneratedRequest {
    const { known, models } = this.#options;
    const signature = known.pick(`signature of ${client}`, this.#chance());
    let body: Json = createMessagesBody({
      chance: () => this.#chance(),
      model: this.#pickOne(models),
      userText: this.#createUserText(client),
      signatures: typeof signature === "string" ? [signature] : [],
    });
    const changes = Math.max(0, Math.floor(this.#chance() * 4) - 1);
    for (let change = 0; change < changes; change += 1) body = malformJson(this.#chance, body);
    const request = this.#buildWireRequest("messages", client, headers, {});
    request.body = this.#malformText(JSON.stringify(body));
    if (this.#chance() < 0.5)
      request.headers["anthropic-version"] = this.#pickOne(["2023-06-01", "2026-10-21"]);
    if (this.#chance() < 0.3) request.headers["anthropic-beta"] = "a-2025-01-01,b-2026-01-01";
    if (this.#chance() < 0.1)
      request.path += this.#pickOne(["?beta=true", "?", "?a=%", "?x=1&x=2"]);
    const countsTokens = this.#options.route === undefined && this.#chance() < 0.15;
    if (countsTokens) {
      request.path = "/v1/messages/count_tokens";
      request.route = `POST ${request.path}`;
    }
    this.#compress(request);
    return request;
  }

  /** Returns a value that matches a schema. */
  #createSample(name: string, schema: Schema, depth: number): unknown {
    const { $ref, anyOf, oneOf, allOf, type } = schema;
    if (typeof $ref === "string") {
      const namedSchema = this.#options.api.schemas[$ref.replace("#/components/schemas/", "")];
      return this.#createSample(name, namedSchema ?? {}, depth);
    }
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return this.#pickOne(schema["enum"] as unknown[]);
    const alternatives = anyOf ?? oneOf;
    if (Array.isArray(alternatives) && schema["properties"] === undefined)
      return this.#createSample(name, this.#pickOne(alternatives as Schema[]), depth);
    if (Array.isArray(allOf))
      return Object.assign(
        {},
        ...(allOf as Schema[]).map((part) => this.#createSample(name, part, depth)),
      ) as unknown;
    switch (this.#pickOne([type ?? "object"].flat() as string[])) {
      case "string":
        return (
          this.#pickKnownValue(name) ??
          this.#pickOne(["a", "Hello", "words and more words", ...oddTexts])
        );
      case "integer":
      case "number":
        return (
          this.#pickKnownValue(name) ??
          Number(schema["minimum"] ?? 0) + Math.floor(this.#chance() * 5)
        );
      case "boolean":
        return this.#chance() < 0.5;
      case "null":
        return null;
      case "array":
        return this.#createList(schema, depth, name);
      default:
        return this.#createObject(schema, depth);
    }
  }

  #createList({ items, minItems }: Schema, depth: number, name: string): unknown[] {
    const count = Math.max(Number(minItems ?? 0), depth <= 0 ? 0 : Math.floor(this.#chance() * 3));
    const singular = name === "tool_groups" ? "tool_group" : name;
    return Array.from({ length: count }, () =>
      this.#createSample(singular, (items ?? {}) as Schema, depth - 1),
    );
  }

  #createObject({ properties = {}, required = [], oneOf }: Schema, depth: number): object {
    const chosenRequired = Array.isArray(oneOf)
      ? (this.#pickOne(oneOf as { required?: string[] }[]).required ?? [])
      : [];
    const alternativeRequired = Array.isArray(oneOf)
      ? (oneOf as { required?: string[] }[]).flatMap((alternative) => alternative.required ?? [])
      : [];
    const isIncluded = (name: string): boolean => {
      if ((required as string[]).includes(name) || chosenRequired.includes(name)) return true;
      if (alternativeRequired.includes(name) || depth <= 0) return false;
      return this.#chance() < 0.3;
    };
    return Object.fromEntries(
      Object.entries(properties as Record<string, Schema>)
        .filter(([name]) => isIncluded(name))
        .map(([name, propertySchema]) => [
          name,
          this.#createSample(name, propertySchema, depth - 1),
        ]),
    );
  }

  /** Returns an existing value for a field or parameter of this name. */
  #pickKnownValue(name: string): string | number | undefined {
    const { known, models, agents, toolGroups, clients } = this.#options;
    switch (name) {
      case "model":
      case "title_model":
        return this.#pickOne(models);
      case "agent":
        return this.#pickOne(agents);
      case "tool_group":
        return this.#pickOne(toolGroups);
      case "token":
        // Wrong tokens are slowed down, which is measured elsewhere.
        return this.#pickOne(Object.values(clients));
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
        return this.#pickOne(["\\w+\\d", "^(a+)+$", "(x|x)*y", "[", "a{1,5}", "\\d{3}-\\d{4}"]);
      default:
        return known.pick(name, this.#chance());
    }
  }

  #pickOne<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }
}

/** Returns the marker that only requests of this client contain. */
export function createMarker(client: string): string {
  return `marker-of-${client}-only`;
}

/** Encodes a part of a URL. Replaces lone surrogates, which cannot be encoded. */
function safeEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
