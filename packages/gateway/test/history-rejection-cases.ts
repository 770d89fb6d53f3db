import {
  lookTool,
  historyWithCall,
  historyWithReasoning,
  consecutiveUserMessages,
  lateSystemMessage,
  inputImage,
  reasoningFlags,
  someMessage,
  type RejectionCase,
} from "./rejection-case.ts";

/** Errors about messages. */
export const historyRejectionCases: RejectionCase[] = [
  // roles and order
  ...[
    "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
    "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'",
    "invalid parameter 'messages[0].role': invalid role 'developer', must be one of: system, user, assistant, tool",
    "Error from provider: Upstream request failed: [1214] Incorrect role information",
    "chat template rejected the request: Unexpected message role.",
  ].map((message): RejectionCase => ({
    title: `the role developer: ${message}`,
    initialFlags: { developerRole: "developer" },
    request: { instructions: "be kind", input: "hi" },
    rejects: someMessage(({ role }) => role === "developer"),
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: "developer_role",
  })),
  {
    title: "the role developer, by pydantic",
    initialFlags: { developerRole: "developer" },
    request: { instructions: "be kind", input: "hi" },
    rejects: someMessage(({ role }) => role === "developer"),
    status: 422,
    error: {
      detail: [
        {
          type: "enum",
          loc: ["body", "messages", 0, "role"],
          msg: "Input should be 'system', 'user', 'assistant', 'function' or 'tool'",
          input: "developer",
        },
      ],
    },
    expectedLesson: "developer_role",
  },
  {
    title: "a later system message, by llama.cpp's template",
    request: { instructions: "be kind", input: lateSystemMessage },
    rejects: someMessage(({ role }, index) => index > 0 && role === "system"),
    status: 500,
    error: {
      error: {
        code: 500,
        message:
          "\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}↵ {{- raise_exception('System message must be at the beginnin...\n ^\nError: Jinja Exception: System message must be at the beginning.",
        type: "server_error",
      },
    },
    expectedLesson: "system_first",
  },
  {
    title: "a later system message, by Mistral",
    request: { instructions: "be kind", input: lateSystemMessage },
    rejects: someMessage(({ role }, index) => index > 0 && role === "system"),
    error: {
      object: "error",
      message: "Unexpected role 'system' after role 'user'",
      type: "invalid_request_message_order",
      param: null,
      code: "3230",
    },
    expectedLesson: "system_first",
  },
  ...[
    "invalid params, invalid chat setting (2013)",
    "invalid params, chat content has invalid message role: system (2013)",
  ].map((message): RejectionCase => ({
    title: `a later system message, by MiniMax: ${message}`,
    request: { instructions: "be kind", input: lateSystemMessage },
    rejects: someMessage(({ role }, index) => index > 0 && role === "system"),
    error: { type: "error", error: { type: "bad_request_error", message, http_code: "400" } },
    expectedLesson: "system_first",
  })),
  {
    title: "a user message after a tool result, by Mistral through OpenRouter",
    request: { input: [...historyWithCall, { role: "user", content: "hurry" }] },
    rejects: someMessage(
      ({ role }, index, all) => role === "user" && all[index - 1]?.["role"] === "tool",
    ),
    error: {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: {
          raw: '{"object":"error","message":"Unexpected role \'user\' after role \'tool\'","type":"invalid_request_message_order","param":null,"code":"3230"}',
          provider_name: "Mistral",
        },
      },
    },
    expectedLesson: "user_after_tool",
  },
  ...[
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    "ValidationException: A conversation must alternate between user and assistant roles.",
  ].map((message): RejectionCase => ({
    title: `consecutive user messages: ${message}`,
    request: { input: consecutiveUserMessages },
    rejects: someMessage(
      ({ role }, index, all) => role === "user" && all[index - 1]?.["role"] === "user",
    ),
    error: { object: "error", message, type: "BadRequestError", param: null, code: 400 },
    expectedLesson: "roles_alternate",
  })),

  // contents
  {
    title: "empty text with tool calls, by Bedrock",
    initialFlags: { emptyContent: "empty" },
    request: { input: historyWithCall },
    rejects: someMessage(({ content }) => content === ""),
    error: { error: { message: "messages: text content blocks must be non-empty" } },
    expectedLesson: "empty_content",
  },
  {
    title: "empty text with tool calls, by Moonshot",
    initialFlags: { emptyContent: "empty" },
    request: { input: historyWithCall },
    rejects: someMessage(({ content }) => content === ""),
    error: {
      error: {
        message:
          "Invalid request: the message at position 1 with role 'assistant' must not be empty",
        type: "invalid_request_error",
      },
    },
    expectedLesson: "empty_content",
  },
  ...[
    { error: { message: "invalid message content type: <nil>" } },
    { error: { message: "messages[1].content: Invalid input: expected string, received null" } },
    { error: { message: "messages[1]: missing field `content`" } },
    {
      detail: [
        {
          loc: ["body", "messages", 1, "assistant", "content"],
          msg: "Input should be a valid string",
          type: "string_type",
        },
      ],
    },
  ].map((error): RejectionCase => ({
    title: `null content with tool calls: ${JSON.stringify(error)}`,
    request: { input: historyWithCall },
    rejects: someMessage(({ content }) => content === null),
    status: 422,
    error,
    expectedLesson: "empty_content",
  })),
  ...[
    {
      error: {
        message:
          "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
      },
    },
    {
      error: {
        param: "messages.2.tool.content.str",
        type: "invalid_request_error",
        message: "Input should be a valid string",
      },
    },
    {
      error:
        "Invalid 'messages' in payload. Please check the structure of your 'messages' and try again.",
    },
  ].map((error): RejectionCase => ({
    title: `an image in a tool result: ${JSON.stringify(error)}`,
    initialFlags: { toolResultMedia: "parts" },
    request: {
      input: [
        ...historyWithCall.slice(0, 2),
        { type: "function_call_output", call_id: "call_aaa", output: [inputImage] },
      ],
    },
    rejects: someMessage(({ role, content }) => role === "tool" && Array.isArray(content)),
    error,
    expectedLesson: "tool_result_media",
  })),

  // reasoning
  ...[
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
  ].map((message): RejectionCase => ({
    title: `calls without reasoning: ${message}`,
    request: { input: historyWithCall },
    rejects: someMessage(
      (one) => one["tool_calls"] !== undefined && one["reasoning_content"] === undefined,
    ),
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: "reasoning_required",
  })),
  ...[
    {
      error: {
        message:
          "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
        type: "invalid_request_error",
      },
    },
    {
      message:
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
      type: "invalid_request_error",
      param: "validation_error",
      code: "wrong_api_format",
    },
    {
      object: "error",
      message: {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "messages", 1, "assistant", "reasoning_content"],
            msg: "Extra inputs are not permitted",
            input: "hm",
          },
        ],
      },
    },
  ].map((error): RejectionCase => ({
    title: `reasoning in the history: ${JSON.stringify(error)}`,
    initialFlags: reasoningFlags,
    request: { input: historyWithReasoning },
    rejects: someMessage((one) => one["reasoning_content"] !== undefined),
    status: 422,
    error,
    expectedLesson: "reasoning_rejected",
  })),
  ...[
    "Unsupported value: 'reasoning_effort' does not support 'medium' with this model. Supported values are: 'low' and 'high'.",
    'invalid reasoning value: \'medium\' (must be "high", "low", "max", or "none")',
    "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low' or 'high'\", 'input': 'medium', 'ctx': {'expected': \"'low' or 'high'\"}}]",
    "reasoning_effort: unknown variant `medium`, expected one of `low`, `high`, `max`",
    "The model does not support reasoning_effort",
    '"qwen3-coder:30b" does not support thinking',
    "reasoning_effort must be one of `none` or `default`",
  ].map((message): RejectionCase => ({
    title: `the effort medium: ${message}`,
    request: { input: "hi", reasoning: { effort: "medium" } },
    rejects: ({ reasoning_effort: effort }) => effort === "medium" || effort === "none",
    error: { error: { message, type: "invalid_request_error", param: "reasoning_effort" } },
    expectedLesson: "effort",
  })),
  {
    title: "an effort with tools, if it must be none",
    request: { input: "hi", tools: [lookTool], reasoning: { effort: "high" } },
    rejects: ({ reasoning_effort: effort }) => effort !== "none",
    error: {
      error: {
        message:
          "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        param: "reasoning_effort",
      },
    },
    expectedLesson: "effort_with_tools",
  },
  {
    title: "an effort with tools, if it must be omitted",
    request: { input: "hi", tools: [lookTool], reasoning: { effort: "high" } },
    rejects: ({ reasoning_effort: effort }) => effort !== undefined,
    error: {
      error: {
        message:
          "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.",
      },
    },
    expectedLesson: "effort_with_tools",
  },
];
