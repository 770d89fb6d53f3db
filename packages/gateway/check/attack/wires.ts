import type { JsonObject } from "@deltawire/wire";
import type { ApiName } from "../../src/config/config.ts";

/** The API of a client or of an upstream. */
export type Wire = ApiName;

export const wires: readonly Wire[] = ["chat", "responses", "messages"];

/** The route of each API. */
export const wirePaths: Readonly<Record<Wire, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

const parameters: JsonObject = { type: "object", properties: { a: { type: "string" } } };

/** A short request in each API, without model and tools. */
export const helloBodies: Readonly<Record<Wire, JsonObject>> = {
  chat: { messages: [{ role: "user", content: "Hello" }] },
  responses: { input: "Hello" },
  messages: { max_tokens: 1000, messages: [{ role: "user", content: "Hello" }] },
};

/** The tool `look` in each API. */
export const lookTools: Readonly<Record<Wire, JsonObject>> = {
  chat: { type: "function", function: { name: "look", parameters } },
  responses: { type: "function", name: "look", parameters, strict: false },
  messages: { name: "look", input_schema: parameters },
};
