import {
  lookTool,
  jsonSchemaFormat,
  jsonObjectFormat,
  type RejectionCase,
} from "./rejection-case.ts";

/** Refusals of parameters. */
export const parameterRejectionCases: RejectionCase[] = [
  ...[
    "`response_format` json_object cannot be combined with tool/function calling",
    "json mode cannot be combined with tool/function calling",
    "Function calling with a response mime type: 'application/json' is unsupported",
  ].map((message): RejectionCase => ({
    title: `response_format with tools: ${message}`,
    request: { input: "give me JSON", tools: [lookTool], text: jsonObjectFormat },
    rejects: (body) => body["response_format"] !== undefined && body["tools"] !== undefined,
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: "format_with_tools",
  })),
  ...[
    "This response_format type is unavailable now",
    "The parameter `response_format.type` specified in the request are not valid: invalid value: `json_schema`, supported values are: `json_object` and `text`.",
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
  ].map((message): RejectionCase => ({
    title: `a schema as format: ${message}`,
    request: { input: "give me an object", text: jsonSchemaFormat },
    rejects: (body) => JSON.stringify(body["response_format"] ?? {}).includes("json_schema"),
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: "response_format",
  })),
  {
    title: "cache_control of a content part",
    initialFlags: { cacheControl: true },
    request: {
      input: [
        {
          role: "user",
          content: [{ type: "input_text", text: "hi", prompt_cache_breakpoint: {} }],
        },
      ],
    },
    rejects: ({ messages }) => JSON.stringify(messages).includes("cache_control"),
    error: {
      error: {
        message: "Extra inputs are not permitted",
        param: "messages.0.content.0.cache_control",
      },
    },
    expectedLesson: "parameter",
  },
  {
    title: "any object as format",
    request: { input: "give me JSON", text: jsonObjectFormat },
    rejects: (body) => JSON.stringify(body["response_format"] ?? {}).includes("json_object"),
    error: { error: "'response_format.type' must be 'json_schema' or 'text'" },
    expectedLesson: "response_format",
  },
  {
    title: "any format",
    request: { input: "give me an object", text: jsonSchemaFormat },
    rejects: (body) => body["response_format"] !== undefined,
    error: {
      error: {
        message: "Unsupported parameter: 'response_format' is not supported with this model.",
      },
    },
    expectedLesson: "response_format",
  },
  ...[
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "This model only support stream mode, please enable the stream parameter to access the model. ",
  ].map((message): RejectionCase => ({
    title: `a complete reply: ${message}`,
    request: { input: "hi", stream: false },
    rejects: ({ stream }) => stream !== true,
    error: { error: { code: "invalid_parameter_error", message } },
    expectedLesson: "stream_only",
  })),
  {
    title: "a stream",
    request: { input: "hi", stream: true },
    rejects: (body) => body["stream"] === true || body["stream_options"] !== undefined,
    error: {
      error: {
        message:
          "Unsupported value: 'stream' does not support true with this model. Supported values are: false.",
        param: "stream",
        code: "unsupported_value",
      },
    },
    expectedLesson: "no_stream",
  },
  ...[
    {
      error: {
        message: "Unknown parameter: 'stream_options'.",
        param: "stream_options",
        code: "unknown_parameter",
      },
    },
    {
      detail:
        "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be 'error'.",
    },
    { error: { message: "Validation error at #/stream_options: Extra inputs are not permitted" } },
    {
      object: "error",
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
      type: "BadRequestError",
      param: null,
      code: 400,
    },
  ].map((error): RejectionCase => ({
    title: `stream_options: ${JSON.stringify(error)}`,
    request: { input: "hi", stream: true },
    rejects: (body) => body["stream_options"] !== undefined,
    error,
    expectedLesson: "stream_usage",
  })),
  {
    title: "max_tokens",
    request: { input: "hi", max_output_tokens: 9 },
    rejects: (body) => body["max_completion_tokens"] !== 9,
    error: {
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param: "max_tokens",
        code: "unsupported_parameter",
      },
    },
    expectedLesson: "token_limit",
  },
  {
    title: "max_completion_tokens",
    initialFlags: { maxTokensParameter: "max_completion_tokens" },
    request: { input: "hi", max_output_tokens: 9 },
    rejects: (body) => body["max_tokens"] !== 9,
    error: {
      error: {
        message:
          "litellm.UnsupportedParamsError: mistral does not support parameters: {'max_completion_tokens': 9}, for model=mistral-small-latest.",
      },
    },
    expectedLesson: "token_limit",
  },
  ...[
    "invalid temperature: only 1 is allowed for this model",
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    "Unsupported parameter: 'temperature' is not supported with this model.",
    "`temperature` may only be set to 1 when thinking is enabled.",
    "`temperature` is deprecated for this model.",
  ].map((message): RejectionCase => ({
    title: `a temperature: ${message}`,
    request: { input: "hi", temperature: 0.2 },
    rejects: ({ temperature }) => temperature !== undefined,
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: message.startsWith("Unsupported parameter") ? "parameter" : "sampling",
  })),
  {
    title: "temperature and top_p, through a proxy of a proxy",
    request: { input: "hi", temperature: 0.2, top_p: 0.9 },
    rejects: (body) => body["top_p"] !== undefined || body["temperature"] !== 0.2,
    error: {
      error: {
        message:
          'litellm.BadRequestError: BedrockException - {"message":"The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one."}',
      },
    },
    expectedLesson: "sampling",
  },
  ...[
    {
      error: {
        message: "Unsupported parameter: 'seed' is not supported with this model.",
        param: "seed",
        code: "unsupported_parameter",
      },
    },
    {
      error: {
        message: "Unrecognized request argument supplied: seed",
        type: "invalid_request_error",
        param: null,
      },
    },
    { error: { message: "Unrecognized request arguments supplied: top_k, seed" } },
    { error: { message: "property 'seed' is unsupported", type: "invalid_request_error" } },
    { message: "body.seed: property 'body.seed' is unsupported", code: "wrong_api_format" },
    { error: { message: "`seed` is not supported with this model" } },
    {
      error: {
        code: 400,
        message: 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
        status: "INVALID_ARGUMENT",
      },
    },
    { error: { message: "seed: Extra inputs are not permitted", type: "invalid_request_error" } },
    {
      error: {
        message:
          "2 request validation errors: Extra inputs are not permitted, field: 'seed', value: 1",
      },
    },
    {
      detail: [
        {
          type: "extra_forbidden",
          loc: ["body", "seed"],
          msg: "Extra inputs are not permitted",
          input: 1,
        },
      ],
    },
    {
      object: "error",
      message: [
        { type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" },
      ],
      code: 3001,
    },
    { error: { message: 'json: unknown field "seed"' } },
    { error: { message: "Additional properties are not allowed ('seed' was unexpected)" } },
    { error: { message: "chat() got an unexpected keyword argument 'seed'" } },
    { detail: "Unsupported parameter: seed" },
    '{"error":{"message":"{\\"error\\":{\\"message\\":\\"Unsupported parameter: \'seed\'\\"}}"}}',
    "Unknown parameter: seed",
  ].map((error): RejectionCase => ({
    title: `an unknown parameter: ${JSON.stringify(error)}`,
    request: { input: "hi", seed: 1 },
    rejects: ({ seed }) => seed !== undefined,
    error,
    expectedLesson: "parameter",
  })),
  ...[
    "Argument not supported on this model: presencePenalty",
    "Model grok-4.6 does not support parameter presencePenalty.",
  ].map((error): RejectionCase => ({
    title: `a parameter in camel case: ${error}`,
    request: { input: "hi", presence_penalty: 0.1, frequency_penalty: 0.1 },
    rejects: (body) =>
      body["presence_penalty"] !== undefined || body["frequency_penalty"] === undefined,
    error: { code: "Client specified an invalid argument", error },
    expectedLesson: "parameter",
  })),
  {
    title: "two parameters at once",
    request: { input: "hi", seed: 1, stop: ["x"] },
    rejects: (body) => body["seed"] !== undefined || body["stop"] !== undefined,
    error: {
      message:
        "body.seed: property 'body.seed' is unsupported\nbody.stop: property 'body.stop' is unsupported",
    },
    expectedLesson: "parameter",
  },
  {
    title: "parallel_tool_calls",
    request: { input: "hi", tools: [lookTool], parallel_tool_calls: false },
    rejects: (body) => body["parallel_tool_calls"] !== undefined,
    error: {
      error: {
        message: "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
        param: "parallel_tool_calls",
        code: "unsupported_parameter",
      },
    },
    expectedLesson: "parameter",
  },
];
