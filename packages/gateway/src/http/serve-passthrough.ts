import { Readable } from "node:stream";
import type { JsonObject } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { forwardReply } from "../passthrough/forward.ts";
import { HeldBody } from "../passthrough/held-body.ts";
import { boundaryOf } from "../passthrough/multipart-field.ts";
import type { Outcome } from "../upstream/failure.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { Exchange, ExchangeRecord, Prepare } from "../upstream/upstream-client.ts";
import type { UpstreamCall, UpstreamRequest } from "../upstream/upstream.ts";
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
  const headers = { "content-type": "application/json", accept: "*/*" };
  const targets = await targetsFor(call, server, model);
  const source = new RequestSource(call.client?.name ?? "", body);
  await run(call, server, { targets, source }, (_upstream, name) => {
    const text = JSON.stringify(model === undefined ? body : { ...body, model: name });
    return { send: (request) => sent(call, server, request, { path, headers, body: text }) };
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
    const targets = await targetsFor(call, server, found?.value);
    // What is in a file is not known before it has gone by: each upload is a conversation of its own.
    const source = new RequestSource(call.client?.name ?? "", { input: call.id });
    const { headers } = call.request;
    const announced = Number(headers["content-length"]);
    await run(call, server, { targets, source, isSentOnce: true }, (_upstream, model) => ({
      async send(request) {
        const grown =
          found === undefined ? 0 : Buffer.byteLength(model) - (found.end - found.start);
        const length =
          packed || !Number.isInteger(announced) ? undefined : String(announced + grown);
        const body = Readable.from(held.withModel(found === undefined ? undefined : model), {
          objectMode: false,
        });
        let broken: { error: unknown } | undefined;
        body.on("error", (error) => (broken = { error }));
        const outcome = await sent(call, server, request, {
          path,
          headers: {
            "content-type": headers["content-type"] ?? "",
            accept: "*/*",
            ...(length === undefined ? {} : { "content-length": length }),
          },
          body,
        });
        // The upstream has done nothing wrong.
        if (broken !== undefined && outcome.is === "unreachable") throw broken.error;
        return outcome;
      },
    }));
  } finally {
    // A client that is still sending would otherwise have to go on before it hears why it should not.
    if (!call.request.complete && !call.response.headersSent)
      call.response.setHeader("connection", "close");
    await held.release();
  }
}

async function run(
  call: Call,
  { relay }: ReplyServer,
  exchange: Omit<Exchange, "signal" | "record">,
  prepare: Prepare,
): Promise<void> {
  const { signal, response } = call;
  const ran = await relay.request({ ...exchange, signal, record: recordOf(call) }, prepare);
  // It may only have stopped reading: what it has not got by now it will not get.
  if (ran === "left") response.destroy();
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

function sent(
  call: Call,
  { relay }: ReplyServer,
  request: UpstreamRequest,
  upstreamCall: UpstreamCall,
): Promise<Outcome> {
  const { response, signal } = call;
  const { redactor } = relay;
  const onFirst = (): void => void (call.firstByteAt = performance.now());
  const onDropped = (names: readonly string[]): void =>
    void (recordOf(call).droppedHeaders = names);
  const options = { response, redactor, onFirst, onDropped };
  return request.send(upstreamCall, {
    signal,
    reader: (connection) => forwardReply(options, connection),
  });
}
