import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";
import { requestTokens } from "./count.ts";

/** An answer without a reply. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body: JsonObject;
}

/** Why a request gets no reply; `earlier` is how many of the same conversation came before. */
export type RefusalRule = (request: ChatRequest, earlier: number) => Refusal | undefined;

/** The texts are those of real providers, word by word where the case allows. */
export function refusal(
  status: number,
  message: string,
  more: { type?: string; code?: string; param?: string; headers?: Record<string, string> } = {},
): Refusal {
  const { type = "invalid_request_error", code = null, param = null, headers } = more;
  const body = { error: { message, type, param, code } };
  return headers === undefined ? { status, body } : { status, headers, body };
}

const limited = refusal(429, "Rate limit reached for the demo. Please try again in 1s.", {
  type: "requests",
  code: "rate_limit_exceeded",
  headers: { "retry-after": "1" },
});

export const rateLimited: RefusalRule = (_, earlier) => (earlier < 2 ? limited : undefined);

export const alwaysRateLimited: RefusalRule = () => limited;

export const overloaded: RefusalRule = (_, earlier) =>
  earlier < 1
    ? refusal(503, "The demo is overloaded. Please try again later.", { type: "server_error" })
    : undefined;

export function aboveContext(window: number): RefusalRule {
  return (request) => {
    const tokens = requestTokens(request);
    if (tokens <= window) return undefined;
    return refusal(
      400,
      `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      { code: "context_length_exceeded", param: "messages" },
    );
  };
}

export const redirects: RefusalRule = () => ({
  status: 307,
  headers: { location: "/elsewhere/chat/completions" },
  body: {},
});

export const refusesDeveloper: RefusalRule = ({ messages }) => {
  const at = messages.findIndex(({ role }) => role === "developer");
  if (at === -1) return undefined;
  return refusal(
    400,
    `Failed to deserialize the JSON body into the target type: messages[${at}].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\``,
  );
};

export const singleSystem: RefusalRule = ({ messages }) =>
  messages.some(({ role }, at) => at > 0 && (role === "system" || role === "developer"))
    ? refusal(400, "System message must be at the beginning.", { type: "BadRequestError" })
    : undefined;

const knownParameters = new Set(
  "model messages stream stream_options tools tool_choice temperature top_p max_tokens stop response_format reasoning_effort n".split(
    " ",
  ),
);

export const refusesParameters: RefusalRule = (request) => {
  const param = Object.keys(request).find((name) => !knownParameters.has(name));
  if (param === undefined) return undefined;
  return refusal(400, `Unsupported parameter: '${param}' is not supported with this model.`, {
    code: "unsupported_parameter",
    param,
  });
};

export const refusesImagesInTools: RefusalRule = ({ messages }) => {
  const at = messages.findIndex(
    ({ role, content }) =>
      role === "tool" && Array.isArray(content) && content.some(({ type }) => type !== "text"),
  );
  if (at === -1) return undefined;
  return refusal(422, "Input should be a valid string", {
    param: `messages.${at}.tool.content.str`,
  });
};

export const needsReasoning: RefusalRule = ({ messages }) =>
  messages.some(
    (message) => callsTools(message) && typeof message["reasoning_content"] !== "string",
  )
    ? refusal(400, "The `reasoning_content` in the thinking mode must be passed back to the API.", {
        code: "invalid_request_error",
      })
    : undefined;

export const mistralIds: RefusalRule = ({ messages }) => {
  const wrong = callIds(messages).find((id) => !/^[A-Za-z0-9]{9}$/.test(id));
  if (wrong === undefined) return undefined;
  const message = `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
  return {
    status: 400,
    body: { object: "error", message, type: "invalid_request_error", code: "3280" },
  };
};

export const streamOnly: RefusalRule = ({ stream }) =>
  stream === true
    ? undefined
    : refusal(400, "parameter.enable_thinking must be set to false for non-streaming calls", {
        code: "invalid_parameter_error",
      });

export const onlyTemperature1: RefusalRule = ({ temperature }) =>
  temperature === undefined || temperature === null || temperature === 1
    ? undefined
    : refusal(400, "invalid temperature: only 1 is allowed for this model");

export const noJsonSchema: RefusalRule = ({ response_format: format, messages }) => {
  const unsaid = format?.type === "json_object" && !/json/i.test(JSON.stringify(messages));
  return format?.type === "json_schema" || unsaid
    ? refusal(400, "This response_format type is unavailable now")
    : undefined;
};

export const noForcedChoice: RefusalRule = ({ tool_choice: choice }) =>
  choice === undefined || choice === null || choice === "auto" || choice === "none"
    ? undefined
    : refusal(400, "Thinking mode does not support this tool_choice");

export const noEmptyContent: RefusalRule = ({ messages }) =>
  messages.some(({ content }) => content === "" || (Array.isArray(content) && content.length === 0))
    ? refusal(400, "messages: text content blocks must be non-empty")
    : undefined;

export const notForChats: RefusalRule = () =>
  refusal(
    404,
    "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
    { param: "model" },
  );

function callsTools(message: ChatMessage): boolean {
  return message.role === "assistant" && (message.tool_calls ?? []).length > 0;
}

function callIds(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : [],
  );
}
