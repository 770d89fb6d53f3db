import { createSeededRandom } from "../../../test/seeded-random.ts";
import { gzipSync } from "node:zlib";
import {
  validChatRequests,
  validMessagesRequests,
  validResponsesRequests,
  type Json,
} from "./valid-requests.ts";

/*
 * Malformed requests of all kinds, generated from a seed: bytes, JSON of any shape, and valid requests with a random
 * change.
 */

export interface MalformedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** Creates the request of a seed. Default route: any of those that serve models. */
export function createMalformedRequest(
  seed: number,
  models: readonly string[],
  route?: string,
): MalformedRequest {
  return new JsonMutator(createSeededRandom(seed), models).request(route);
}

const jsonRoutes = ["/v1/embeddings", "/v1/images/generations", "/v1/audio/speech"];
const uploadRoutes = ["/v1/images/edits", "/v1/audio/transcriptions", "/v1/audio/translations"];

const unusualTexts = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\udfff\ud800",
  "\u202e\u2066",
  "\ufeff",
  "e\u0301".repeat(50),
  "👩‍👩‍👧‍👦",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "[DONE]",
  "data: [DONE]\n\n",
  "<think>",
  "</think><tool_call>{",
  "data:image/png;base64,####",
  "dw1.AAAA",
  "../../etc/passwd",
  "%00%2e",
  "x".repeat(70_000),
];
const unusualNumbers = [0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 53, 2 ** 64, 17, 128, 1e21];

const names = [
  "model",
  "input",
  "messages",
  "role",
  "content",
  "type",
  "text",
  "tools",
  "function",
  "name",
  "parameters",
  "call_id",
  "id",
  "arguments",
  "output",
  "n",
  "stream",
  "stop",
  "include",
  "reasoning",
  "summary",
  "encrypted_content",
  "format",
  "tool_choice",
  "image_url",
  "file_data",
  "source",
  "tool_use_id",
  "input_schema",
  "thinking",
  "signature",
  "system",
  "cache_control",
  "max_tokens",
  "__proto__",
  "constructor",
  "length",
  "toJSON",
];

/** Returns JSON with a random change. */
export function malformJson(chance: () => number, value: Json): Json {
  return new JsonMutator(chance, []).changedOnce(value);
}

class JsonMutator {
  readonly #chance: () => number;
  readonly #models: readonly string[];

  constructor(chance: () => number, models: readonly string[]) {
    this.#chance = chance;
    this.#models = models;
  }

  request(route?: string): MalformedRequest {
    const kind = this.#chance();
    const path = route ?? this.#path();
    if (uploadRoutes.includes(path) && kind > 0.2) return this.#upload(path);
    if (kind < 0.08) return this.#sent(path, this.#bytes(Math.floor(this.#chance() * 3000)));
    if (kind < 0.2) return this.#sent(path, this.#formatJson(this.#value(4)));
    return this.#sent(path, this.#formatJson(this.#changed(this.#right(path))));
  }

  #path(): string {
    const chance = this.#chance();
    if (chance < 0.3) return "/v1/responses";
    if (chance < 0.55) return "/v1/chat/completions";
    if (chance < 0.75) return "/v1/messages";
    if (chance < 0.8) return "/v1/messages/count_tokens";
    return this.#one([...jsonRoutes, ...uploadRoutes]);
  }

  #sent(path: string, bytes: Buffer): MalformedRequest {
    const headers: Record<string, string> = { "content-type": "application/json" };
    let body = bytes;
    if (this.#chance() < 0.1) {
      headers["content-encoding"] = this.#one([
        "gzip",
        "zstd",
        "br",
        "deflate",
        "identity",
        "x",
        "gzip, gzip",
      ]);
      if (this.#chance() < 0.5) {
        headers["content-encoding"] = "gzip";
        body = gzipSync(body);
      }
    }
    if (this.#chance() < 0.1)
      headers["content-type"] = this.#one([
        "text/plain",
        "",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "x/y; charset=utf-16",
      ]);
    if (this.#chance() < 0.1)
      headers["x-deltawire-tool-calls"] = this.#one(["complete", "whole", "deltas", "", "x"]);
    if (this.#chance() < 0.1)
      headers["x-deltawire-reasoning"] = this.#one(["raw", "text", "summary", "", "x"]);
    if (this.#chance() < 0.1) headers["originator"] = "codex_exec";
    if (path.startsWith("/v1/messages")) Object.assign(headers, this.#messagesHeaders());
    if (this.#chance() < 0.05)
      headers["accept"] = this.#one(["", "text/html", "text/event-stream", "*"]);
    if (this.#chance() < 0.05)
      headers["authorization"] = this.#one(["", "Bearer", "Bearer \u00ff", "x".repeat(5000)]);
    if (this.#chance() < 0.03) headers["transfer-encoding"] = "chunked";
    const method =
      this.#chance() < 0.03
        ? this.#one(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
        : "POST";
    return { method, path: this.#chance() < 0.02 ? `${path}/` : path, headers, body };
  }

  #messagesHeaders(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.#chance() < 0.7)
      headers["anthropic-version"] = this.#one([
        "2023-06-01",
        "2026-10-21",
        "",
        "x",
        "2".repeat(5000),
      ]);
    if (this.#chance() < 0.3)
      headers["anthropic-beta"] = this.#one(["a-2025-01-01,b", "", ",", "é", "x".repeat(9000)]);
    if (this.#chance() < 0.1)
      headers[
        this.#one([
          "anthropic-dangerous-direct-browser-access",
          "anthropic-future",
          "anthropic-api-key",
        ])
      ] = this.#one(["true", "", "key"]);
    return headers;
  }

  #upload(path: string): MalformedRequest {
    const line = this.#one(["x", "----WebKitFormBoundary", "a b", "'", "-"]);
    const part = (): string => {
      const name = this.#one(["model", "file", "prompt", "", "model\u0000", 'mo"del']);
      const file =
        this.#chance() < 0.3 ? `; filename="${this.#one(unusualTexts).slice(0, 50)}"` : "";
      const value = name === "model" ? this.#model() : this.#one(unusualTexts);
      return `--${line}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
    };
    const parts = Array.from({ length: Math.floor(this.#chance() * 5) }, part).join("");
    const fullBody = `${parts}--${line}--\r\n`;
    const text =
      this.#chance() < 0.2
        ? fullBody.slice(0, Math.floor(this.#chance() * fullBody.length))
        : fullBody;
    const { method, headers } = this.#sent(path, Buffer.alloc(0));
    delete headers["content-encoding"];
    headers["content-type"] = `multipart/form-data; boundary="${line}"`;
    return { method, path, headers, body: Buffer.from(text) };
  }

  /** Returns the JSON text of a value, sometimes slightly invalid. */
  #formatJson(value: Json): Buffer {
    let text = JSON.stringify(value);
    if (this.#chance() < 0.03) {
      const levels = 10 ** Math.ceil(this.#chance() * 5);
      text = text.replace(/"(?:[^"\\]|\\.)*"(?=[,}\]])/, "[".repeat(levels) + "]".repeat(levels));
    }
    if (this.#chance() < 0.03) text = text.replace(/:\s*(\d+)/, ":1e999");
    if (this.#chance() < 0.05) text = text.slice(0, Math.floor(this.#chance() * text.length));
    if (this.#chance() < 0.02) return Buffer.from(text, "utf16le");
    const bytes = Buffer.from(text);
    if (this.#chance() < 0.05 && bytes.length > 0)
      bytes[Math.floor(this.#chance() * bytes.length)] = Math.floor(this.#chance() * 256);
    return bytes;
  }

  #changed(value: Json): Json {
    let changed = value;
    const changes = Math.floor(this.#chance() * 3);
    for (let change = 0; change < changes; change += 1) changed = this.changedOnce(changed);
    return changed;
  }

  changedOnce(value: Json): Json {
    const isLeaf = typeof value !== "object" || value === null;
    if (isLeaf || this.#chance() < 0.04) return this.#value(3);
    if (Array.isArray(value)) {
      const copy = [...value];
      const index = Math.floor(this.#chance() * copy.length);
      const chance = this.#chance();
      if (copy.length === 0 || chance < 0.15) copy.splice(index, 0, this.#value(2));
      else if (chance < 0.25) copy.splice(index, 1);
      else if (chance < 0.35) copy.push(...copy);
      else copy[index] = this.changedOnce(copy[index] ?? null);
      return copy;
    }
    const fields = Object.entries(value);
    const position = Math.floor(this.#chance() * fields.length);
    const chance = this.#chance();
    if (fields.length === 0 || chance < 0.15) fields.push([this.#one(names), this.#value(2)]);
    else if (chance < 0.3) fields.splice(position, 1);
    else {
      const [name = "", old = null] = fields[position] ?? [];
      fields[position] = chance < 0.35 ? [this.#one(names), old] : [name, this.changedOnce(old)];
    }
    return Object.fromEntries(fields);
  }

  #value(depth: number): Json {
    const chance = this.#chance();
    if (depth === 0 || chance < 0.5) {
      if (chance < 0.1) return null;
      if (chance < 0.2) return chance < 0.15;
      return chance < 0.35 ? this.#one(unusualNumbers) : this.#one([...unusualTexts, ...names]);
    }
    const count = Math.floor(this.#chance() * 4);
    if (chance < 0.7) return Array.from({ length: count }, () => this.#value(depth - 1));
    return Object.fromEntries(
      Array.from({ length: count }, () => [this.#one(names), this.#value(depth - 1)]),
    );
  }

  #right(path: string): Json {
    const model = this.#model();
    const stream = this.#chance() < 0.6;
    if (path === "/v1/responses") return { model, stream, ...this.#one(validResponsesRequests) };
    if (path === "/v1/chat/completions") return { model, stream, ...this.#one(validChatRequests) };
    if (path.startsWith("/v1/messages"))
      return { model, stream, ...this.#one(validMessagesRequests) };
    return { model, input: ["a", "b"], prompt: "x", voice: "y", n: 1 };
  }

  #model(): string {
    return this.#chance() < 0.95 ? this.#one(this.#models) : this.#one(unusualTexts);
  }

  #bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => Math.floor(this.#chance() * 256)));
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }
}
