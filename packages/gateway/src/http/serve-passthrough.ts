import { Readable } from "node:stream";
import type { JsonObject } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import type { ForwardOutcome } from "../passthrough/ask.ts";
import { forward } from "../passthrough/forward.ts";
import { HeldBody } from "../passthrough/held-body.ts";
import { boundaryOf } from "../passthrough/multipart-field.ts";
import { asOutcome, beginRequest, problemFrom, tryTargets } from "../passthrough/try-targets.ts";
import type { ExchangeRecord } from "../relay/relay.ts";
import { RequestSource } from "../relay/request-source.ts";
import type { UpstreamRequest } from "../relay/upstream.ts";
import type { Call } from "./call.ts";
import { Problem } from "../problem.ts";
import { bodyChunks, isPacked, readJson } from "./request-body.ts";
import type { ReplyServer } from "./serve-replies.ts";

/** The other endpoints of OpenAI's API: to the upstream of the model that they name, and back as it comes. */
export async function servePassthrough(
  call: Call,
  server: ReplyServer,
  path: string,
): Promise<void> {
  const boundary = boundaryOf(call.request.headers["content-type"] ?? "");
  if (boundary === undefined) await serveJson(call, server, path);
  else await serveMultipart(call, server, path, boundary);
}

async function serveJson(call: Call, server: ReplyServer, path: string): Promise<void> {
  const body = await readJson(call);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Problem("invalid_json", "the body is no JSON object");
  const model = (body as JsonObject)["model"];
  if (model !== undefined && typeof model !== "string")
    throw new Problem("invalid_request", "model: expected a string", { param: "model" });
  const { relay } = server;
  const { signal } = call;
  const headers = { "content-type": "application/json", accept: "*/*" };
  const targets = await targetsFor(call, server, model);
  const source = new RequestSource(call.client?.name ?? "", body);
  const tries = { relay, signal, record: recordOf(call), source };
  await tryTargets(tries, targets, (request, target) => {
    const text = JSON.stringify(model === undefined ? body : { ...body, model: target.model });
    return sent(call, server, request, { path, headers, body: text });
  });
}

/** A file goes by once: what fails on the way is not tried again. */
async function serveMultipart(
  call: Call,
  server: ReplyServer,
  path: string,
  boundary: string,
): Promise<void> {
  const packed = isPacked(call.request);
  const held = new HeldBody(bodyChunks(call.request, call.bodyLimits.maxBytes), boundary);
  try {
    const found = await held.findModel();
    const [target] = await targetsFor(call, server, found?.value);
    if (target === undefined) throw new Problem("model_not_found", "no upstream serves this model");
    const record = recordOf(call);
    // What is in a file is not known before it has gone by: each upload is a conversation of its own.
    const source = new RequestSource(call.client?.name ?? "", { input: call.id });
    const request = beginRequest({ relay: server.relay, record, source }, target);
    if (request instanceof Problem) throw request;
    const { headers } = call.request;
    const announced = Number(headers["content-length"]);
    const grown =
      found === undefined ? 0 : Buffer.byteLength(target.model) - (found.end - found.start);
    const length = packed || !Number.isInteger(announced) ? undefined : String(announced + grown);
    const model = found === undefined ? undefined : target.model;
    const body = Readable.from(held.withModel(model), { objectMode: false });
    let broken: { error: unknown } | undefined;
    body.on("error", (error) => (broken = { error }));
    record.attempts += 1;
    const outcome = await sent(call, server, request, {
      path,
      headers: {
        "content-type": headers["content-type"] ?? "",
        accept: "*/*",
        ...(length === undefined ? {} : { "content-length": length }),
      },
      body,
    }).catch((error: unknown) => {
      request.finish(undefined);
      throw error;
    });
    if (outcome.is === "answered" || outcome.is === "left")
      return request.finish(asOutcome(outcome));
    if (broken !== undefined && outcome.is === "unreachable") {
      // The upstream has done nothing wrong.
      request.finish(undefined);
      throw broken.error;
    }
    const problem = problemFrom(outcome, request.upstream, server.relay);
    request.finish(outcome, problem);
    throw problem;
  } finally {
    // A client that is still sending would otherwise have to go on before it hears why it should not.
    if (!call.request.complete && !call.response.headersSent)
      call.response.setHeader("connection", "close");
    await held.release();
  }
}

async function targetsFor(
  call: Call,
  server: ReplyServer,
  model: string | undefined,
): Promise<readonly ModelTarget[]> {
  call.model = model;
  if (model !== undefined) return server.targetsOf(model);
  const names = [...server.relay.upstreams.keys()];
  if (names.length === 1 && names[0] !== undefined) return [{ upstream: names[0], model: "" }];
  throw new Problem(
    "invalid_request",
    "model: expected the name of a model; GET /v1/models lists them",
    { param: "model" },
  );
}

function recordOf(call: Call): ExchangeRecord {
  return (call.record ??= { attempts: 0, lessons: [], repairs: new Map() });
}

async function sent(
  call: Call,
  { relay }: ReplyServer,
  request: UpstreamRequest,
  sending: Pick<Parameters<typeof forward>[0], "path" | "headers" | "body">,
): Promise<ForwardOutcome> {
  const { response, signal } = call;
  const onFirst = (): void => void (call.firstByteAt = performance.now());
  const { redactor } = relay;
  const onDropped = (names: readonly string[]): void =>
    void (recordOf(call).droppedHeaders = names);
  return forward({ request, response, signal, redactor, onFirst, onDropped, ...sending });
}
