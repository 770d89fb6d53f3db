import type { ChatRequest } from "@deltawire/wire";
import { generateAnswer } from "./answer.ts";
import { buildChunks, buildCompletion, type ChunkEnvelope } from "./chunks.ts";
import { omitUsage } from "./distortions.ts";
import type { DemoModel } from "./quirks.ts";
import { buildCleanBody, buildPlainJsonBody, type WireStep } from "./wire-steps.ts";

/** A reply with status 200. */
export interface DemoReply {
  contentType: string;
  steps: WireStep[];
}

/** Builds the reply of a demo model. */
export function buildDemoReply(
  request: ChatRequest,
  demoModel: DemoModel,
  envelope: ChunkEnvelope,
): DemoReply {
  const demoAnswer = generateAnswer(request);
  if (request.stream !== true || demoModel.neverStreams) {
    const completion = buildCompletion(demoAnswer, envelope);
    const json = JSON.stringify(demoModel.distortCompletion?.(completion) ?? completion);
    const buildBody = demoModel.buildJsonBody ?? buildPlainJsonBody;
    return { contentType: "application/json", steps: buildBody(json) };
  }
  const includeUsage = request.stream_options?.include_usage === true;
  const cleanChunks = buildChunks(demoAnswer, envelope);
  const chunks = includeUsage ? cleanChunks : omitUsage(cleanChunks);
  const buildBody = demoModel.buildStreamBody ?? buildCleanBody;
  return {
    contentType: "text/event-stream; charset=utf-8",
    steps: buildBody(demoModel.distortChunks?.(chunks) ?? chunks),
  };
}
