import type { JsonObject, JsonValue } from "../json.ts";
import type { CallEvent } from "../tools/tool-call-assembler.ts";

/** The content of a reply in order, in the same form for every wire. Readers emit pieces, writers send them to a client. */
export type ReplyPiece =
  | { type: "text"; text: string; logprobs: readonly JsonValue[] }
  | { type: "refusal"; text: string }
  /** `inContent`: true if the reasoning was in the content, between tags or as a part, and not in a separate field. */
  | { type: "reasoning"; text: string; inContent: boolean }
  /** A reasoning field repeated the text between tags. */
  | { type: "reasoning.repeated" }
  /**
   * A signature or encrypted reasoning, as an entry of `reasoning_details`. It belongs to the reasoning before it, and is also
   * part of `takeOpaqueReasoning` of the reader.
   */
  | { type: "reasoning.detail"; detail: JsonObject }
  /** In the form of Chat, such as `{type: "url_citation", url_citation: {url, title, …}}`. */
  | { type: "annotation"; annotation: JsonObject }
  /** A search that the upstream ran. */
  | { type: "web_search"; query: string }
  | { type: "audio"; data: string; transcript: string }
  | { type: "image"; url: string }
  | CallEvent;
