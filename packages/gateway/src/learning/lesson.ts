import type { JsonObject, MessagesFlags, ResponsesFlags, UpstreamProfile } from "@deltawire/wire";
import type { ApiName } from "../config/config.ts";
import type { ParsedRejection } from "./parse-rejection.ts";

/** An error response of an upstream. The body is parsed JSON or text. */
export interface UpstreamRejection {
  status: number;
  body: unknown;
}

/** The rejected request. */
export interface RequestAttempt {
  speaks: ApiName;
  /** The flags that applied, including lessons. Only used for Chat upstreams. */
  profile: UpstreamProfile;
  /** The learned flags that applied, for Responses upstreams. */
  responses: ResponsesFlags;
  /** The flags that applied, including lessons. Only used for Messages upstreams. Default: none. */
  messages?: MessagesFlags;
  /** The learned limit that applied. Default: none. */
  outputTokenLimit?: number | undefined;
  /** True if the API may be changed: no lesson has changed it yet. */
  canSwitchApi?: boolean;
  /** Set if a lesson has changed the API: one of this request, or one of an earlier request. */
  apiSwitch?: "now" | "earlier" | undefined;
  /** True if a missing endpoint may be a reason to change the API (`speaks = "auto"`). */
  detectsApi?: boolean;
  /** The APIs to which this request has been sent, including `speaks`. Default: only `speaks`. */
  triedApis?: readonly ApiName[];
  /** The API of the client. A Messages client can change its requests by itself. Default: another one than `speaks`. */
  clientApi?: ApiName;
  /** The body that was sent. */
  body: JsonObject;
}

/** Changes to requests for an image or audio model. */
export interface MediaLesson {
  /** Such as `image-gen` or `audio-stt`. */
  readonly modelType: string;
  /** Parameters that were rejected and are no longer sent. */
  readonly droppedParameters?: readonly MediaParameter[];
  /** The upstream returns links to images unless base64 data is requested. */
  readonly returnsLinks?: true;
}

/** Parameters that the gateway adds to requests to media endpoints. Not every server supports them. */
export type MediaParameter = "stream" | "response_format";

/** A change to requests, derived from an upstream's error response. */
export interface Lesson {
  code: LessonCode;
  /** Shown to users: what the upstream does not support, and what is sent instead. */
  description: string;
  /** The provider's error message, truncated. */
  providerMessage: string;
  /** Flags for `withProfileFlags`, for Chat upstreams. */
  flags: Partial<UpstreamProfile>;
  /** Flags for `mergeFlags`, for Responses upstreams. */
  responses?: ResponsesFlags;
  /** Flags for `mergeFlags`, for Messages upstreams. */
  messages?: MessagesFlags;
  /** The model's limit of output tokens. */
  outputTokenLimit?: number;
  /** The API of the same server that the model needs. */
  speaks?: ApiName;
  /** Changes for image and audio endpoints. */
  media?: MediaLesson;
  /** Applies only to this request and is not stored, because the error is about this conversation, not about the upstream. */
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
  | "reasoning_rejected"
  | "effort"
  | "effort_with_tools"
  // calls and tools
  | "call_ids"
  | "calls_without_tools"
  | "custom_tools"
  | "tool_schema"
  | "strict"
  | "tool_choice"
  // parameters
  | "format_with_tools"
  | "response_format"
  | "stream_only"
  | "no_stream"
  | "stream_usage"
  | "token_limit"
  | "output_token_limit"
  | "sampling"
  | "parameter"
  // Responses upstreams
  | "history"
  | "sealed_reasoning"
  | "include"
  | "additional_tools"
  // the API of the model
  | "responses_api"
  | "chat_api"
  | "messages_api"
  | "store"
  // Messages upstreams
  | "thinking"
  | "signature"
  | "late_system"
  // images
  | "image_links";

export interface LessonChange {
  flags?: Partial<UpstreamProfile>;
  responses?: ResponsesFlags;
  messages?: MessagesFlags;
  outputTokenLimit?: number;
  speaks?: ApiName;
  once?: true;
  /** Replaces the description of the rule. */
  description?: string;
}

/** One row of a table of known errors. The first rule that matches and whose change would have an effect applies. */
export interface LessonRule {
  readonly code: LessonCode;
  /** At least one must match the text of the error. Without patterns, `createChange` checks the rejected parameters. */
  readonly patterns?: readonly RegExp[];
  readonly description: string;
  /** The request fields that the rule is about. The rule does not apply to errors that refer only to other fields. */
  readonly fields?: readonly string[];
  /** The rule applies only to these statuses. */
  readonly statuses?: readonly number[];
  /** The rule also applies to 500 and 502, which some servers send for exceptions in chat templates and grammars. */
  readonly matchesServerErrors?: true;
  /** Returns the change for later attempts; undefined if it already applies or would not have helped this request. */
  readonly createChange: (
    attempt: RequestAttempt,
    rejection: ParsedRejection,
  ) => LessonChange | undefined;
}
