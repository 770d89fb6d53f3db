import type { JsonObject } from "../json.ts";

/** How a Messages upstream differs from others. A gateway sets these flags or learns them from rejected requests. */
export interface MessagesFlags {
  /**
   * How an effort is sent. `budget` (default): as a thinking budget, which every server knows; `adaptive`: as
   * `output_config.effort` with adaptive thinking; `none`: not at all.
   */
  readonly thinkingStyle?: "budget" | "adaptive" | "none";
  /**
   * Later system messages: `reminder` (default) sends them as text of the user in `<system-reminder>`; `keep` with the role
   * `system`, where the API allows it.
   */
  readonly lateSystemMessages?: "reminder" | "keep";
  /** True if the upstream signs no thinking but demands it back (DeepSeek, Kimi). Default false. */
  readonly unsignedThinking?: boolean;
  /** True if the upstream rejected the signatures of the history: then no thinking is sent. Default false. */
  readonly dropThinking?: boolean;
  /** `max_tokens` for requests without a limit. Default 8192. */
  readonly defaultMaxTokens?: number;
  /** The model's limit; a higher `max_tokens` is lowered. */
  readonly maxTokensLimit?: number;
  /** Whether cache marks are set: at the end of the tools, of the system text and of the last turn. Default true. */
  readonly cacheMarks?: boolean;
  /** Fields that are not sent. */
  readonly droppedParameters?: readonly string[];
  /** Fields that are added to every request and replace fields of the same name. */
  readonly extraBody?: Readonly<JsonObject>;
}

/** Applies the flags that concern a single field. Returns the same object if nothing changes. */
export function applyMessagesFlags<Body extends JsonObject>(
  request: Body,
  { droppedParameters = [], extraBody = {} }: MessagesFlags,
  onDropped: (name: string) => void,
): Body {
  let body = request;
  for (const [name, value] of Object.entries(extraBody))
    if (body[name] !== value) body = { ...body, [name]: value };
  for (const name of droppedParameters) {
    if (body[name] === undefined) continue;
    const { [name]: _dropped, ...rest } = body;
    body = rest as Body;
    onDropped(name);
  }
  return body;
}
