import * as distortions from "./distortions.ts";
import * as rejections from "./rejections.ts";
import * as bodies from "./wire-steps.ts";

/** A model of the demo, and how its server deviates from the standard. */
export interface DemoModel {
  readonly description: string;
  /** In estimated tokens. */
  readonly contextWindow?: number;
  readonly reject?: rejections.RejectionRule;
  readonly distortChunks?: distortions.ChunkDistortion;
  readonly distortCompletion?: distortions.CompletionDistortion;
  readonly buildStreamBody?: bodies.StreamBodyBuilder;
  readonly buildJsonBody?: bodies.JsonBodyBuilder;
  /** Replies to a streaming request with one JSON object. */
  readonly neverStreams?: true;
  /** Sends nothing, not even headers. */
  readonly neverResponds?: true;
  /** Set for models that do not chat. */
  readonly modality?: "image" | "audio";
  /** Transcribes audio files of the demo. */
  readonly readsDemoAudio?: true;
}

const smallContextWindow = 8000;

const modelsByName = {
  clean: { description: "Behaves as OpenAI documents it." },

  // Streams with another encoding
  "stop-with-calls": {
    description: 'Sends finish_reason "stop" with tool calls.',
    distortChunks: distortions.stopWithCalls,
    distortCompletion: distortions.stopWithCallsInCompletion,
  },
  "no-index": {
    description: "Sends tool calls without an index.",
    distortChunks: distortions.omitIndex,
  },
  "same-index": {
    description: "Gives all parallel tool calls the index 0.",
    distortChunks: distortions.repeatIndex,
  },
  "missing-ids": {
    description: "Sends tool calls without ids.",
    distortChunks: distortions.omitIds,
    distortCompletion: distortions.omitIdsInCompletion,
  },
  "split-name": {
    description: "Splits the name of a tool across two chunks.",
    distortChunks: distortions.splitName,
  },
  "snapshot-arguments": {
    description: "Repeats all arguments so far in every delta.",
    distortChunks: distortions.accumulateArguments,
  },
  "object-arguments": {
    description: "Sends arguments as an object instead of a string.",
    distortChunks: distortions.sendArgumentsAsObject,
    distortCompletion: distortions.sendArgumentsAsObjectInCompletion,
  },
  "think-tags": {
    description: "Sends reasoning in <think> tags in the text.",
    distortChunks: distortions.useThinkTags,
    distortCompletion: distortions.useThinkTagsInCompletion,
  },
  "no-usage": {
    description: "Never reports usage.",
    distortChunks: distortions.omitUsage,
    distortCompletion: distortions.omitUsageInCompletion,
  },
  "usage-in-last-choice": {
    description: "Puts the usage into the last choice.",
    distortChunks: distortions.moveUsageToChoice,
    distortCompletion: distortions.moveUsageToChoiceInCompletion,
  },

  // Bodies with another framing or ending
  "complete-json": {
    description: "Replies to a streaming request with one JSON object.",
    neverStreams: true,
  },
  crlf: {
    description: "Ends lines with CRLF and writes comments between events.",
    buildStreamBody: bodies.buildCrlfBody,
  },
  bytewise: {
    description: "Writes one byte at a time.",
    buildStreamBody: bodies.buildByteByByteBody,
  },
  "no-done": {
    description: "Ends without [DONE].",
    buildStreamBody: bodies.buildBodyWithoutDone,
  },
  "no-finish-done": {
    description: "Sends [DONE] without a finish_reason.",
    distortChunks: distortions.omitFinish,
  },
  "keeps-open": {
    description: "Keeps the connection open after the last chunk.",
    buildStreamBody: bodies.buildUnclosedBody,
  },
  slow: {
    description: "Waits 50 ms between chunks.",
    buildStreamBody: bodies.buildSlowBody,
  },
  silent: {
    description: "Sends its headers, then nothing for a minute, then the answer.",
    buildStreamBody: bodies.buildSilentBody,
    buildJsonBody: bodies.buildSilentJsonBody,
  },

  // Servers that fail
  cut: {
    description: "Closes the connection in the middle of the reply.",
    buildStreamBody: bodies.buildTruncatedBody,
    buildJsonBody: bodies.buildTruncatedJsonBody,
  },
  "error-in-stream": {
    description: "Fails in the middle of the stream, after a status of 200.",
    buildStreamBody: bodies.buildErrorBody,
  },
  hangs: {
    description: "Never responds.",
    neverResponds: true,
  },
  "rate-limited": {
    description: "Responds with 429 to the first two requests of a conversation.",
    reject: rejections.rejectFirstTwo,
  },
  "rate-limited-forever": {
    description: "Responds with 429 to every request.",
    reject: rejections.rejectAlways,
  },
  overloaded: {
    description: "Responds with 503 to the first request of a conversation.",
    reject: rejections.rejectFirst,
  },
  "small-context": {
    description: `Rejects more than ${smallContextWindow} tokens.`,
    contextWindow: smallContextWindow,
    reject: rejections.rejectAboveContext(smallContextWindow),
  },
  redirects: {
    description: "Redirects to another path.",
    reject: rejections.redirectAlways,
  },

  // Servers that reject what others accept
  "rejects-developer-role": {
    description: "Rejects the developer role.",
    reject: rejections.rejectDeveloperRole,
  },
  "single-system": {
    description: "Rejects a system message that is not the first message.",
    reject: rejections.rejectLaterSystem,
  },
  "rejects-parameters": {
    description: "Rejects parallel_tool_calls and all unknown parameters.",
    reject: rejections.rejectUnknownParameters,
  },
  "rejects-images-in-tools": {
    description: "Rejects images in tool results.",
    reject: rejections.rejectToolResultImages,
  },
  "needs-reasoning": {
    description: "Rejects earlier tool calls without their reasoning_content.",
    reject: rejections.rejectMissingReasoning,
  },
  "mistral-ids": {
    description: "Rejects call ids that are not nine letters or digits, even those it generated.",
    reject: rejections.rejectNonMistralCallIds,
  },
  "stream-only": {
    description: "Rejects requests that do not stream.",
    reject: rejections.rejectNonStreaming,
  },
  "temperature-1-only": {
    description: "Rejects every temperature except 1.",
    reject: rejections.rejectTemperature,
  },
  "no-json-schema": {
    description: "Rejects json_schema, and json_object if no message mentions JSON.",
    reject: rejections.rejectJsonSchema,
  },
  "no-forced-choice": {
    description: "Rejects a tool_choice that forces a call.",
    reject: rejections.rejectForcedToolChoice,
  },
  "no-empty-content": {
    description: "Rejects messages with empty content.",
    reject: rejections.rejectEmptyContent,
  },

  // Models that do not chat
  painter: {
    description: "Draws images: /v1/images/generations.",
    reject: rejections.rejectChat,
    modality: "image",
  },
  retoucher: {
    description: "Edits images: /v1/images/edits.",
    reject: rejections.rejectChat,
    modality: "image",
  },
  listener: {
    description: "Transcribes audio of the speaker model: /v1/audio/transcriptions.",
    reject: rejections.rejectChat,
    modality: "audio",
    readsDemoAudio: true,
  },
  speaker: {
    description: "Turns text into a tone: /v1/audio/speech.",
    reject: rejections.rejectChat,
    modality: "audio",
  },
} as const satisfies Record<string, DemoModel>;

/** The models of the demo, by name. */
export const demoModels: ReadonlyMap<string, DemoModel> = new Map(Object.entries(modelsByName));

/** Model names of the first version, which stored chats may still use. Not listed. */
const formerNames: ReadonlyMap<string, string> = new Map([
  ["refuses-developer", "rejects-developer-role"],
  ["refuses-parameters", "rejects-parameters"],
  ["refuses-images-in-tools", "rejects-images-in-tools"],
  ["whole-json", "complete-json"],
]);

/** Returns the model with a current or former name. */
export function findDemoModel(name: string): DemoModel | undefined {
  return demoModels.get(formerNames.get(name) ?? name);
}

export const defaultContextWindow = 128_000;
