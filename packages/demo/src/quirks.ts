import * as distort from "./distortions.ts";
import * as refuse from "./refusals.ts";
import * as body from "./wire-steps.ts";

/** One way in which a Chat server may differ. The name of the model selects it. */
export interface Quirk {
  readonly description: string;
  /** In estimated tokens. */
  readonly contextWindow?: number;
  readonly refuses?: refuse.RefusalRule;
  readonly chunks?: distort.ChunkDistortion;
  readonly whole?: distort.WholeDistortion;
  readonly streamBody?: body.StreamBody;
  readonly wholeBody?: body.WholeBody;
  /** Answers a request for a stream with one JSON object. */
  readonly neverStreams?: true;
  /** Not even headers come. */
  readonly neverAnswers?: true;
  /** It does not chat. */
  readonly makes?: "image" | "audio";
  /** It knows what the demo's own sounds say. */
  readonly hears?: true;
}

const smallWindow = 8000;

const table = {
  clean: { description: "Does everything as OpenAI's documentation says." },

  // Streams that say it differently
  "stop-with-calls": {
    description: 'Says finish_reason "stop" although there are tool calls.',
    chunks: distort.stopWithCalls,
    whole: distort.wholeStopWithCalls,
  },
  "no-index": {
    description: "Sends tool calls without an index.",
    chunks: distort.withoutIndex,
  },
  "same-index": {
    description: "Gives all parallel tool calls the index 0.",
    chunks: distort.withSameIndex,
  },
  "missing-ids": {
    description: "Sends tool calls without ids.",
    chunks: distort.withoutIds,
    whole: distort.wholeWithoutIds,
  },
  "split-name": {
    description: "Sends the name of a tool in two halves.",
    chunks: distort.splitName,
  },
  "snapshot-arguments": {
    description: "Repeats all arguments so far in every delta.",
    chunks: distort.snapshots,
  },
  "object-arguments": {
    description: "Sends arguments as an object instead of as text.",
    chunks: distort.objectArguments,
    whole: distort.wholeObjectArguments,
  },
  "think-tags": {
    description: "Reasons between <think> tags in the text.",
    chunks: distort.thinkTags,
    whole: distort.wholeThinkTags,
  },
  "no-usage": {
    description: "Never says how many tokens were used.",
    chunks: distort.withoutUsage,
    whole: distort.wholeWithoutUsage,
  },
  "usage-in-last-choice": {
    description: "Puts the usage into the last choice.",
    chunks: distort.usageInChoice,
    whole: distort.wholeUsageInChoice,
  },

  // Bodies that are framed or ended differently
  "whole-json": {
    description: "Answers a request for a stream with one JSON object.",
    neverStreams: true,
  },
  crlf: {
    description: "Ends lines with CRLF and writes comments between events.",
    streamBody: body.crlfBody,
  },
  bytewise: {
    description: "Writes one byte at a time.",
    streamBody: body.bytewiseBody,
  },
  "no-done": {
    description: "Ends without [DONE].",
    streamBody: body.bodyWithoutDone,
  },
  "no-finish-done": {
    description: "Says [DONE] without a finish_reason.",
    chunks: distort.withoutFinish,
  },
  "keeps-open": {
    description: "Keeps the connection open after the finish.",
    streamBody: body.openBody,
  },
  slow: {
    description: "Takes 50 ms between two chunks.",
    streamBody: body.slowBody,
  },
  silent: {
    description: "Sends its headers, then nothing for a minute, then the answer.",
    streamBody: body.silentBody,
    wholeBody: body.silentWhole,
  },

  // Servers that fail
  cut: {
    description: "Breaks off in the middle of the reply.",
    streamBody: body.cutBody,
    wholeBody: body.cutWhole,
  },
  "error-in-stream": {
    description: "Fails in the middle of the stream, after a status of 200.",
    streamBody: body.errorBody,
  },
  hangs: {
    description: "Never answers.",
    neverAnswers: true,
  },
  "rate-limited": {
    description: "Answers 429 twice in each conversation before it answers.",
    refuses: refuse.rateLimited,
  },
  "rate-limited-forever": {
    description: "Answers 429 to everything.",
    refuses: refuse.alwaysRateLimited,
  },
  overloaded: {
    description: "Answers 503 once in each conversation before it answers.",
    refuses: refuse.overloaded,
  },
  "small-context": {
    description: `Refuses what is longer than ${smallWindow} tokens.`,
    contextWindow: smallWindow,
    refuses: refuse.aboveContext(smallWindow),
  },
  redirects: {
    description: "Redirects to another path.",
    refuses: refuse.redirects,
  },

  // Servers that refuse what others take
  "refuses-developer": {
    description: "Refuses the role developer.",
    refuses: refuse.refusesDeveloper,
  },
  "single-system": {
    description: "Refuses a system message that is not the first message.",
    refuses: refuse.singleSystem,
  },
  "refuses-parameters": {
    description: "Refuses parallel_tool_calls and every other parameter that it does not know.",
    refuses: refuse.refusesParameters,
  },
  "refuses-images-in-tools": {
    description: "Refuses pictures in the results of tools.",
    refuses: refuse.refusesImagesInTools,
  },
  "needs-reasoning": {
    description: "Refuses earlier tool calls without their reasoning_content.",
    refuses: refuse.needsReasoning,
  },
  "mistral-ids": {
    description: "Refuses call ids, its own too, that are not nine letters or digits.",
    refuses: refuse.mistralIds,
  },
  "stream-only": {
    description: "Refuses to answer in one piece.",
    refuses: refuse.streamOnly,
  },
  "temperature-1-only": {
    description: "Refuses every temperature but 1.",
    refuses: refuse.onlyTemperature1,
  },
  "no-json-schema": {
    description: "Refuses json_schema, and json_object if nobody mentions JSON.",
    refuses: refuse.noJsonSchema,
  },
  "no-forced-choice": {
    description: "Refuses a tool_choice that forces a call.",
    refuses: refuse.noForcedChoice,
  },
  "no-empty-content": {
    description: "Refuses messages with empty content.",
    refuses: refuse.noEmptyContent,
  },

  // Models that do not chat
  painter: {
    description: "Draws pictures: /v1/images/generations.",
    refuses: refuse.notForChats,
    makes: "image",
  },
  retoucher: {
    description: "Edits pictures: /v1/images/edits.",
    refuses: refuse.notForChats,
    makes: "image",
  },
  listener: {
    description: "Writes down what the speaker says: /v1/audio/transcriptions.",
    refuses: refuse.notForChats,
    makes: "audio",
    hears: true,
  },
  speaker: {
    description: "Says words in a tone of its own: /v1/audio/speech.",
    refuses: refuse.notForChats,
    makes: "audio",
  },
} as const satisfies Record<string, Quirk>;

/** The models of the demo, by name. */
export const quirks: ReadonlyMap<string, Quirk> = new Map(Object.entries(table));

export const usualContextWindow = 128_000;
