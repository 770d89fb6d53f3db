import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";
import { countRequestTokens } from "./count-tokens.ts";

/** An error response or a redirect. */
export interface DemoRejection {
  status: number;
  headers?: Record<string, string>;
  body: JsonObject;
}

/** Returns the rejection of a request, if any. `earlierRequests` counts those of the same conversation. */
export type RejectionRule = (
  request: ChatRequest,
  earlierRequests: number,
) => DemoRejection | undefined;

/** Creates an error response in OpenAI's format. Most messages are quoted from real providers. */
export function createRejection(
  status: number,
  message: string,
  fields: { type?: string; code?: string; param?: string; headers?: Record<string, string> } = {},
): DemoRejection {
  const { type = "invalid_request_error", code = null, param = null, headers } = fields;
  const body = { error: { message, type, param, code } };
  return headers === undefined ? { status, body } : { status, headers, body };
}

const rateLimitRejection = createRejection(
  429,
  "Rate limit reached for the demo. Please try again in 1s.",
  {
    type: "requests",
    code: "rate_limit_exceeded",
    headers: { "retry-after": "1" },
  },
);

export const rejectFirstTwo: RejectionRule = (_, earlierRequests) =>
  earlierRequests < 2 ? rateLimitRejection : undefined;

export const rejectAlways: RejectionRule = () => rateLimitRejection;

export const rejectFirst: RejectionRule = (_, earlierRequests) =>
  earlierRequests < 1
    ? createRejection(503, "The demo is overloaded. Please try again later.", {
        type: "server_error",
      })
    : undefined;

export function rejectAboveContext(contextWindow: number): RejectionRule {
  return (request) => {
    const tokens = countRequestTokens(request);
    if (tokens <= contextWindow) return undefined;
    return createRejection(
      400,
      `This model's maximum context length is ${contextWindow} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      { code: "context_length_exceeded", param: "messages" },
    );
  };
}

export const redirectAlways: RejectionRule = () => ({
  status: 307,
  headers: { location: "/elsewhere/chat/completions" },
  body: {},
});

export const rejectDeveloperRole: RejectionRule = ({ messages }) => {
  const index = messages.findIndex(({ role }) => role === "developer");
  if (index === -1) return undefined;
  return createRejection(
    400,
    `Failed to deserialize the JSON body into the target type: messages[${index}].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\``,
  );
};

export const rejectLaterSystem: RejectionRule = ({ messages }) =>
  messages.some(({ role }, index) => index > 0 && (role === "system" || role === "developer"))
    ? createRejection(400, "System message must be at the beginning.", { type: "BadRequestError" })
    : undefined;

const knownParameters = new Set(
  "model messages stream stream_options tools tool_choice temperature top_p max_tokens stop response_format reasoning_effort n".split(
    " ",
  ),
);

export const rejectUnknownParameters: RejectionRule = (request) => {
  const param = Object.keys(request).find((name) => !knownParameters.has(name));
  if (param === undefined) return undefined;
  return createRejection(
    400,
    `Unsupported parameter: '${param}' is not supported with this model.`,
    {
      code: "unsupported_parameter",
      param,
    },
  );
};

export const rejectToolResultImages: RejectionRule = ({ messages }) => {
  const index = messages.findIndex(
    ({ role, content }) =>
      role === "tool" && Array.isArray(content) && content.some(({ type }) => type !== "text"),
  );
  if (index === -1) return undefined;
  return createRejection(422, "Input should be a valid string", {
    param: `messages.${index}.tool.content.str`,
  });
};

export const rejectMissingReasoning: RejectionRule = ({ messages }) =>
  messages.some(
    (message) => hasToolCalls(message) && typeof message["reasoning_content"] !== "string",
  )
    ? createRejection(
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        {
          code: "invalid_request_error",
        },
      )
    : undefined;

export const rejectNonMistralCallIds: RejectionRule = ({ messages }) => {
  const invalidId = getCallIds(messages).find((id) => !/^[A-Za-z0-9]{9}$/.test(id));
  if (invalidId === undefined) return undefined;
  const message = `Tool call id was ${invalidId} but must be a-z, A-Z, 0-9, with a length of 9.`;
  return {
    status: 400,
    body: { object: "error", message, type: "invalid_request_error", code: "3280" },
  };
};

export const rejectNonStreaming: RejectionRule = ({ stream }) =>
  stream === true
    ? undefined
    : createRejection(
        400,
        "parameter.enable_thinking must be set to false for non-streaming calls",
        {
          code: "invalid_parameter_error",
        },
      );

export const rejectTemperature: RejectionRule = ({ temperature }) =>
  temperature === undefined || temperature === null || temperature === 1
    ? undefined
    : createRejection(400, "invalid temperature: only 1 is allowed for this model");

export const rejectJsonSchema: RejectionRule = ({ response_format: format, messages }) => {
  const lacksJsonMention =
    format?.type === "json_object" && !/json/i.test(JSON.stringify(messages));
  return format?.type === "json_schema" || lacksJsonMention
    ? createRejection(400, "This response_format type is unavailable now")
    : undefined;
};

export const rejectForcedToolChoice: RejectionRule = ({ tool_choice: choice }) =>
  choice === undefined || choice === null || choice === "auto" || choice === "none"
    ? undefined
    : createRejection(400, "Thinking mode does not support this tool_choice");

export const rejectEmptyContent: RejectionRule = ({ messages }) =>
  messages.some(({ content }) => content === "" || (Array.isArray(content) && content.length === 0))
    ? createRejection(400, "messages: text content blocks must be non-empty")
    : undefined;

export const rejectChat: RejectionRule = () =>
  createRejection(
    404,
    "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
    { param: "model" },
  );

function hasToolCalls(message: ChatMessage): boolean {
  return message.role === "assistant" && (message.tool_calls ?? []).length > 0;
}

function getCallIds(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : [],
  );
}
