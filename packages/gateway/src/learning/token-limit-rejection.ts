import type { JsonObject } from "@deltawire/wire";
import type { LessonRule } from "./lesson.ts";
import { markRequestSpecific } from "./request-specific-errors.ts";

const names = ["max_completion_tokens", "max_output_tokens", "max_tokens"] as const;

/** No model has a lower limit: the number is that of something else, such as `temperature`. */
const minLimit = 256;

/** The limit depends on the length of the prompt, so it applies only to this request. */
const promptPattern = /\b(?:prompt|input (?:tokens|length)|remaining|available)\b/i;

const boundPattern =
  /(?:at most|less than or equal to|maximum(?: value| output tokens)?(?: of| is)?|<=|not exceed) ?["'`(]?(\d+)/i;

/**
 * The client requests more output tokens than the model supports. OpenAI: "supports at most 8192 completion tokens"; Anthropic:
 * "max_tokens: 64000 > 8192"; DeepSeek, Qwen: "the valid range of max_tokens is [1, 8192]"; vLLM: "less than or equal to 8192";
 * Groq: "less than or equal to `8192`"; Ollama Cloud: "max_tokens (128000) exceeds model's maximum output tokens (65536)".
 */
export const tokenLimitRejection: LessonRule = {
  code: "output_token_limit",
  patterns: [
    /max_(?:completion_|output_)?tokens["'`]?:? \d+ > \d+/i,
    /max_(?:completion_|output_)?tokens[^\n]{0,120}(?:\[1, ?\d+\]|(?:at most|less than or equal to|maximum(?: value| output tokens)?(?: of| is)?|<=|not exceed) ?["'`(]?\d+)/i,
  ],
  description: "supports fewer output tokens; a higher limit of the client is lowered",
  createChange: ({ body, outputTokenLimit: known = Infinity }, { text }) => {
    const limit = parseLimit(text);
    return limit !== undefined && limit < Math.min(known, getRequestedTokens(body))
      ? { outputTokenLimit: limit, ...markRequestSpecific(promptPattern.test(text)) }
      : undefined;
  },
};

/** Returns the output token limit of a request in any API; 0 if it has none. */
function getRequestedTokens(body: JsonObject): number {
  return Math.max(0, ...names.map((name) => Number(body[name] ?? 0)));
}

function parseLimit(text: string): number | undefined {
  const [, compared] = /max_(?:completion_|output_)?tokens["'`]?:? \d+ > (\d+)/i.exec(text) ?? [];
  const [, range] = /\[1, ?(\d+)\]/.exec(text) ?? [];
  const [, bound] = boundPattern.exec(text) ?? [];
  const limit = Number(compared ?? range ?? bound);
  return Number.isInteger(limit) && limit >= minLimit ? limit : undefined;
}
