import type { JsonObject, Profile } from "@deltawire/wire";
import type { Words } from "./refusal-words.ts";

/** A request that an upstream would not take: its status, and its body as parsed JSON or as text. */
export interface Refusal {
  status: number;
  body: unknown;
}

/** How the refused request was made. */
export interface Tried {
  speaks: "chat" | "responses";
  /** The flags in force, those learned before included. Only a Chat upstream has any. */
  profile: Profile;
  /** The same for a Responses upstream. */
  responses: ResponsesLesson;
  /** What was sent. */
  body: JsonObject;
}

/** What is done differently for a Responses upstream, in the words of `mendHistory` and of `Profile`. */
export interface ResponsesLesson {
  /** No item keeps an id whose reasoning is not there. */
  readonly refusedHistory?: boolean;
  /** Sealed reasoning stays here. */
  readonly dropSealed?: boolean;
  /** Names, or paths such as `reasoning.summary` and, for a field of every item, `input[].status`. */
  readonly droppedParameters?: readonly string[];
  /** The words it knows for reasoning.effort. */
  readonly efforts?: readonly string[];
  /** Sent with every request, over anything of the same name. */
  readonly extraBody?: Readonly<JsonObject>;
}

/** What is done differently for a model of an endpoint for pictures or sound. */
export interface MediaLesson {
  /** The type of the model: `image-gen`, `audio-stt`. */
  readonly endpoint: string;
  /** Not sent: it was refused. */
  readonly leftOut?: readonly MediaParameter[];
  /** It answers with addresses of pictures, unless it is asked for the pictures themselves. */
  readonly links?: true;
}

/** Parameters that the gateway sends to such endpoints without being asked for. Not every server takes them. */
export type MediaParameter = "stream" | "response_format";

/** What an upstream's refusal teaches. */
export interface Lesson {
  code: LessonCode;
  /** For people: what the upstream does not take, and what is done instead. */
  what: string;
  /** The provider's words, cut. */
  said: string;
  /** For a Chat upstream, as for `withFlags`. */
  flags: Partial<Profile>;
  /** For a Responses upstream. */
  responses?: ResponsesLesson;
  /** For an endpoint for pictures or sound. */
  media?: MediaLesson;
  /** It is about this conversation and not about the upstream: it serves the request at hand and is not kept. */
  once?: true;
}

export type LessonCode =
  // roles and order
  | "developer_role"
  | "system_first"
  | "user_after_tool"
  | "roles_alternate"
  // contents
  | "empty_content"
  | "tool_result_media"
  // reasoning
  | "reasoning_required"
  | "reasoning_refused"
  | "effort"
  | "effort_beside_tools"
  // calls and tools
  | "call_ids"
  | "calls_without_tools"
  | "custom_tools"
  | "tool_schema"
  | "strict"
  | "tool_choice"
  // parameters
  | "format_beside_tools"
  | "response_format"
  | "stream_only"
  | "no_stream"
  | "stream_usage"
  | "token_limit"
  | "sampling"
  | "parameter"
  // Responses upstreams
  | "history"
  | "sealed_reasoning"
  | "include"
  | "store"
  // pictures
  | "picture_links";

export interface Change {
  flags?: Partial<Profile>;
  responses?: ResponsesLesson;
  once?: true;
  /** Instead of the row's sentence. */
  what?: string;
}

/** A row of a table of refusals. The first whose words are found and whose change would change something is the lesson. */
export interface KnownRefusal {
  readonly lesson: LessonCode;
  /** Any of these, anywhere in what the error says; a row without them looks at the parameters that it refuses. */
  readonly says?: readonly RegExp[];
  readonly what: string;
  /** Fields of the request that it is about. It does not apply to an error that points only at other fields of the request. */
  readonly about?: readonly string[];
  /** Some servers answer 500 for it: what chat templates and grammars raise. */
  readonly as500?: true;
  /** Undefined where the change is in force already, or could not have helped this request. */
  readonly change: (tried: Tried, words: Words) => Change | undefined;
}
