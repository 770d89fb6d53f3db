import {
  lookTool,
  historyWithCall,
  jsonSchemaFormat,
  someMessage,
  someTool,
  someCall,
  type RejectionCase,
} from "./rejection-case.ts";

/** Upstream errors about tool calls, tools and tool_choice. */
export const toolRejectionCases: RejectionCase[] = [
  // calls and tools
  ...[
    {
      object: "error",
      message: "Tool call id was call_aaa but must be a-z, A-Z, 0-9, with a length of 9.",
      type: "invalid_request_error",
      code: "3280",
    },
    {
      error: { message: "Tool call IDs should be alphanumeric strings with length 9!", code: 500 },
    },
    {
      error: {
        message:
          "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 44 instead.",
      },
    },
  ].map((error): RejectionCase => ({
    title: `call ids in an unsupported format: ${JSON.stringify(error)}`,
    request: { input: historyWithCall },
    rejects: someCall((id) => !/^[a-z\d]{9}$/i.test(id)),
    error,
    expectedLesson: "call_ids",
  })),
  {
    title: "call ids that are not in Kimi's format",
    request: { input: historyWithCall },
    rejects: someCall((id) => !/^functions\.[\w-]+:\d+$/.test(id)),
    error: { error: { message: "Invalid request: tool_call_id  is not found" } },
    expectedLesson: "call_ids",
  },
  ...[
    "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified. Pass `tools=` param OR set `litellm.modify_params = True`",
    "ValidationException: The toolConfig field must be defined when using toolUse and toolResult content blocks.",
  ].map((message): RejectionCase => ({
    title: `a history with tool calls in a request without tools: ${message}`,
    request: { input: [...historyWithCall, { role: "user", content: "Summarise." }] },
    rejects: someMessage((sent) => sent["tool_calls"] !== undefined || sent["role"] === "tool"),
    error: { error: { message, type: "None", param: null, code: "400" } },
    expectedLesson: "calls_without_tools",
  })),
  {
    title: "a custom tool",
    initialFlags: { customTools: "native" },
    request: { input: "hi", tools: [{ type: "custom", name: "apply_patch" }] },
    rejects: someTool(({ type }) => type !== "function"),
    error: { error: { message: "Invalid value: 'custom'. Supported values are: 'function'." } },
    expectedLesson: "custom_tools",
  },
  {
    title: "a schema that Moonshot rejects",
    request: {
      input: "hi",
      tools: [
        {
          ...lookTool,
          parameters: {
            type: "object",
            properties: { a: { type: "object", anyOf: [{ required: ["b"] }] } },
          },
        },
      ],
    },
    rejects: (body) => /"type":"object","anyOf"/.test(JSON.stringify(body)),
    error: {
      error: {
        message:
          "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
      },
    },
    expectedLesson: "tool_schema",
  },
  ...[
    "Invalid schema for function 'look': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
  ].map((message): RejectionCase => ({
    title: `anyOf at the top level of a schema: ${message}`,
    request: {
      input: "hi",
      tools: [
        {
          ...lookTool,
          parameters: { type: "object", anyOf: [{ required: ["a"] }], properties: { a: {} } },
        },
      ],
    },
    rejects: (body) => JSON.stringify(body).includes("anyOf"),
    error: {
      error: { message, type: "invalid_request_error", param: "tools[0].function.parameters" },
    },
    expectedLesson: "tool_schema",
  })),
  ...[
    "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.\nInvalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing field.",
    'JSON schema conversion failed:\nUnrecognized schema: {"not":{}}',
  ].map((message): RejectionCase => ({
    title: `unsupported schema keywords: ${message}`,
    request: {
      input: "hi",
      tools: [
        {
          ...lookTool,
          parameters: {
            $schema: "x",
            type: "object",
            properties: { a: { type: "array" }, b: { not: {} } },
            additionalProperties: false,
          },
        },
      ],
    },
    rejects: (body) => /additionalProperties|\$schema|"not"/.test(JSON.stringify(body)),
    // Google sends an array that contains one error.
    error: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }],
    expectedLesson: "tool_schema",
  })),
  ...[
    {
      message: "Tools with strict=True are not supported by this model",
      param: "tools",
      code: "wrong_api_format",
    },
    {
      message:
        "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'",
    },
    { error: { message: 'Validation Error: "strict" - Extra inputs are not permitted' } },
    {
      error: {
        message:
          "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to be false.",
        code: "invalid_function_parameters",
      },
    },
    {
      detail: [
        {
          type: "extra_forbidden",
          loc: ["body", "tools", 0, "function", "strict"],
          msg: "Extra inputs are not permitted",
          input: true,
        },
      ],
    },
    {
      error: {
        message: "Unknown parameter: 'response_format.json_schema.strict'.",
        param: "response_format.json_schema.strict",
        code: "unknown_parameter",
      },
    },
  ].map((error): RejectionCase => ({
    title: `strict: ${JSON.stringify(error)}`,
    request: { input: "hi", tools: [{ ...lookTool, strict: true }], text: jsonSchemaFormat },
    rejects: (body) => JSON.stringify(body).includes('"strict"'),
    error,
    expectedLesson: "strict",
  })),
  {
    title: "any tool_choice except auto",
    request: { input: "hi", tools: [lookTool], tool_choice: "required" },
    rejects: ({ tool_choice: choice }) => choice !== undefined && choice !== "auto",
    error: { error: { code: "1210", message: "Tool choice must be auto" } },
    expectedLesson: "tool_choice",
  },
  {
    title: "a tool_choice that is an object",
    request: { input: "hi", tools: [lookTool], tool_choice: { type: "function", name: "look" } },
    rejects: ({ tool_choice: choice }) => typeof choice === "object",
    error: {
      error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    },
    expectedLesson: "tool_choice",
  },
  ...[
    "Thinking mode does not support this tool_choice",
    "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode",
    "tool_choice 'required' is incompatible with thinking enabled",
    "Unsupported tool_choice: type='function' function=ChoiceObjectFunction(name='look'). Expected 'auto' or 'none'.",
    "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit the docs.",
  ].map((message): RejectionCase => ({
    title: `a forced tool: ${message}`,
    request: { input: "hi", tools: [lookTool], tool_choice: { type: "function", name: "look" } },
    rejects: ({ tool_choice: choice }) =>
      choice !== undefined && choice !== "auto" && choice !== "none",
    status: message.startsWith("No endpoints") ? 404 : 400,
    error: { error: { message, type: "invalid_request_error" } },
    expectedLesson: "tool_choice",
  })),
  {
    title: "tool_choice with any value",
    request: { input: "hi", tools: [lookTool], tool_choice: "required" },
    rejects: ({ tool_choice: choice }) => choice !== undefined,
    error: {
      error: {
        message:
          "litellm.UnsupportedParamsError: bedrock does not support parameters: {'tool_choice': 'required'}, for model=us.meta.llama3. To drop these, set `litellm.drop_params=True`",
      },
    },
    expectedLesson: "tool_choice",
  },
];
