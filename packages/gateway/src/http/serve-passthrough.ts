import { Readable } from "node:stream";
import type { JsonObject, ResponseUsage } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { forwardReply } from "../passthrough/forward-reply.ts";
import { BufferedBody } from "../passthrough/buffered-body.ts";
import { parseBoundary } from "../passthrough/multipart-field-finder.ts";
import { estimateTextUsage, estimateUploadUsage } from "../security/usage-estimate.ts";
import type { AttemptOutcome } from "../upstream/attempt-outcome.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { Exchange, ExchangeRecord, PrepareRequest } from "../upstream/upstream-client.ts";
import type { UpstreamHttpRequest, UpstreamRequest } from "../upstream/upstream.ts";
import { getClientScope, type RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import { streamBody, isCompressed, readJsonBody } from "./request-body.ts";
import type { ModelRouteServices } from "./model-route-services.ts";

/** Serves the other endpoints of OpenAI's API: forwards each request to the upstream of its model, and its reply unchanged. */
export async function servePassthrough(
  context: RequestContext,
  services: ModelRouteServices,
  path: string,
): Promise<void> {
  assertCostIsKnown(context, path);
  const boundary = parseBoundary(context.request.headers["content-type"] ?? "");
  if (boundary === undefined) await forwardJson(context, services, path);
  else await forwardMultipart(context, services, path, boundary);
}

/** Throws a GatewayError (400) for an access key with a budget, unless the endpoint charges by tokens that replies report. */
function assertCostIsKnown({ accessKey }: RequestContext, path: string): void {
  if (accessKey === undefined || path === "/embeddings") return;
  const { costPerDay, costPerMonth } = accessKey.limits;
  if (costPerDay === undefined && costPerMonth === undefined) return;
  throw new GatewayError(
    "invalid_request",
    `the access key "${accessKey.name}" has a budget, but the cost of /v1${path} is not known; use a key without a budget`,
  );
}

async function forwardJson(
  context: RequestContext,
  services: ModelRouteServices,
  path: string,
): Promise<void> {
  const body = await readJsonBody(context);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new GatewayError("invalid_json", "the body must be a JSON object");
  const model = (body as JsonObject)["model"];
  if (model !== undefined && typeof model !== "string")
    throw new GatewayError("invalid_request", "model: expected a string", { param: "model" });
  const headers = { "content-type": "application/json", accept: "*/*" };
  const targets = await resolveTargets(context, services, model);
  const source = new RequestSource(getClientScope(context), body);
  const estimateUsage = () => estimateTextUsage(body as JsonObject);
  await sendToUpstream(context, services, { targets, source, estimateUsage }, (_upstream, name) => {
    const text = JSON.stringify(model === undefined ? body : { ...body, model: name });
    return {
      send: (request) => sendOnce(context, services, request, { path, headers, body: text }),
    };
  });
}

/** Uploads are streamed, not stored, so a failed one is not retried. */
async function forwardMultipart(
  context: RequestContext,
  services: ModelRouteServices,
  path: string,
  boundary: string,
): Promise<void> {
  const isBodyCompressed = isCompressed(context.request);
  const bufferedBody = new BufferedBody(
    streamBody(context.request, context.bodyLimits.maxBytes),
    boundary,
  );
  try {
    const modelField = await bufferedBody.findModel();
    const targets = await resolveTargets(context, services, modelField?.value);
    // The content is unknown until it has been forwarded, so each upload counts as a separate conversation.
    const source = new RequestSource(getClientScope(context), { input: context.id });
    const { headers } = context.request;
    const contentLength = Number(headers["content-length"]);
    let sentBytes = 0;
    const estimateUsage = () => estimateUploadUsage(sentBytes);
    await sendToUpstream(
      context,
      services,
      { targets, source, isSentOnce: true, estimateUsage },
      (_upstream, model) => ({
        async send(request) {
          const lengthDelta =
            modelField === undefined
              ? 0
              : Buffer.byteLength(model) - (modelField.end - modelField.start);
          const length =
            isBodyCompressed || !Number.isInteger(contentLength)
              ? undefined
              : String(contentLength + lengthDelta);
          const chunks = bufferedBody.replaceModel(modelField === undefined ? undefined : model);
          const body = Readable.from(
            forEachChunk(chunks, ({ length: size }) => (sentBytes += size)),
            { objectMode: false },
          );
          let bodyError: { error: unknown } | undefined;
          body.on("error", (error) => (bodyError = { error }));
          const outcome = await sendOnce(context, services, request, {
            path,
            headers: {
              "content-type": headers["content-type"] ?? "",
              accept: "*/*",
              ...(length === undefined ? {} : { "content-length": length }),
            },
            body,
          });
          // Reading the client's body failed, so the upstream is not to blame.
          if (bodyError !== undefined && outcome.type === "unreachable") throw bodyError.error;
          return outcome;
        },
      }),
    );
  } finally {
    // Otherwise a client that is still sending would have to finish before it gets the error.
    if (!context.request.complete && !context.response.headersSent)
      context.response.setHeader("connection", "close");
    await bufferedBody.release();
  }
}

interface PassthroughExchange extends Omit<Exchange, "signal" | "record"> {
  /** Called if the reply reports no usage. */
  estimateUsage: () => ResponseUsage;
}

async function sendToUpstream(
  context: RequestContext,
  { relay, usageMeter }: ModelRouteServices,
  { estimateUsage, ...exchange }: PassthroughExchange,
  prepare: PrepareRequest,
): Promise<void> {
  const { signal, response, accessKey, model = "" } = context;
  if (accessKey !== undefined) usageMeter?.assertModelAllowed(accessKey, model);
  const record = ensureRecord(context);
  const result = await relay.request({ ...exchange, signal, record }, prepare);
  if (accessKey !== undefined && usageMeter?.countsTokens(accessKey) === true)
    usageMeter.addModelUsage(accessKey, model, record.usage ?? estimateUsage());
  // The client may have stopped reading without disconnecting.
  if (result === "aborted") response.destroy();
}

async function* forEachChunk(
  chunks: AsyncIterable<Buffer>,
  onChunk: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onChunk(chunk);
    yield chunk;
  }
}

async function resolveTargets(
  context: RequestContext,
  services: ModelRouteServices,
  model: string | undefined,
): Promise<readonly ModelTarget[]> {
  context.model = model;
  if (model !== undefined) return services.resolveTargets(model);
  const names = [...services.relay.upstreams.keys()];
  if (names.length === 1 && names[0] !== undefined) return [{ upstream: names[0], model: "" }];
  throw new GatewayError(
    "invalid_request",
    "model: expected the name of a model; GET /v1/models lists them",
    { param: "model" },
  );
}

function ensureRecord(context: RequestContext): ExchangeRecord {
  return (context.record ??= { attempts: 0, lessons: [], repairs: new Map() });
}

function sendOnce(
  context: RequestContext,
  { relay }: ModelRouteServices,
  request: UpstreamRequest,
  httpRequest: UpstreamHttpRequest,
): Promise<AttemptOutcome> {
  const { response, signal } = context;
  const { redactor } = relay;
  const onFirstByte = (): void => void (context.firstByteAt = performance.now());
  const onDroppedHeaders = (names: readonly string[]): void =>
    void (ensureRecord(context).droppedHeaders = names);
  const options = {
    response,
    redactor,
    onFirstByte,
    onDroppedHeaders,
  };
  return request.send(httpRequest, {
    signal,
    createReader: (connection) => forwardReply(options, connection),
  });
}
