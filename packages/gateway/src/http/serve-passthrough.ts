import { Readable } from "node:stream";
import type { JsonObject } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import type { ForwardOutcome } from "../passthrough/ask.ts";
import { forward } from "../passthrough/forward.ts";
import { HeldBody } from "../passthrough/held-body.ts";
import { boundaryOf } from "../passthrough/multipart-field.ts";
import { noted, problemFrom, tryTargets, upstreamOf } from "../passthrough/try-targets.ts";
import type { ExchangeRecord } from "../relay/relay.ts";
import type { Upstream } from "../relay/upstream.ts";
import type { Call } from "./call.ts";
import { Problem } from "./problem.ts";
import { bodyProblem, readJson, unpackedStream } from "./request-body.ts";
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
  const body = await readJson(call.request, server.maxBodyBytes);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Problem("invalid_json", "the body is no JSON object");
  const model = (body as JsonObject)["model"];
  if (model !== undefined && typeof model !== "string")
    throw new Problem("invalid_request", "model: expected a string", { param: "model" });
  const { relay } = server;
  const { signal } = call;
  const headers = { "content-type": "application/json", accept: "*/*" };
  const targets = await targetsFor(call, server, model);
  await tryTargets({ relay, signal, record: recordOf(call) }, targets, (upstream, target) => {
    const text = JSON.stringify(model === undefined ? body : { ...body, model: target.model });
    return sent(call, upstream, { path, headers, body: text });
  });
}

/** A file goes by once: what fails on the way is not tried again. */
async function serveMultipart(
  call: Call,
  server: ReplyServer,
  path: string,
  boundary: string,
): Promise<void> {
  const { stream, packed } = unpackedStream(call.request, server.maxBodyBytes);
  const held = new HeldBody(stream as AsyncIterable<Buffer>, boundary);
  try {
    const found = await held.findModel().catch((error: unknown) => {
      throw bodyProblem(error, packed);
    });
    const [target] = await targetsFor(call, server, found?.value);
    if (target === undefined) throw new Problem("model_not_found", "no upstream serves this model");
    const record = recordOf(call);
    const upstream = upstreamOf({ relay: server.relay, record }, target);
    if (upstream instanceof Problem) throw upstream;
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
    const answer = await sent(call, upstream, {
      path,
      headers: {
        "content-type": headers["content-type"] ?? "",
        accept: "*/*",
        ...(length === undefined ? {} : { "content-length": length }),
      },
      body,
    });
    const outcome = noted(upstream, answer);
    if (outcome.is === "answered" || outcome.is === "left") return;
    if (broken !== undefined && outcome.is === "unreachable") {
      // The upstream has done nothing wrong.
      upstream.circuit.undecided(Date.now());
      throw bodyProblem(broken.error, packed);
    }
    upstream.note(outcome);
    throw problemFrom(outcome, upstream, server.relay);
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
  upstream: Upstream,
  request: Pick<Parameters<typeof forward>[0], "path" | "headers" | "body">,
): Promise<ForwardOutcome> {
  const { response, signal } = call;
  const onFirst = (): void => void (call.firstByteAt = performance.now());
  return forward({ upstream, response, signal, onFirst, ...request });
}
