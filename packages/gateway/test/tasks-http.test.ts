import { createHash } from "node:crypto";
import type { TaskView } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { matchRoute } from "../src/http/routes.ts";
import { createTaskInfo } from "./scripted-tasks.ts";
import { taskServerFixture, TestStream, type TaskServerFixture } from "./task-server-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

interface Failure {
  error: { code: string; param: string | null; message: string };
  [beside: string]: unknown;
}

const readError = async (response: Response): Promise<[number, string, string | null]> => {
  const { error } = (await response.json()) as Failure;
  return [response.status, error.code, error.param];
};
const go = { model: "m", input: "Go" };

describe("the handler of a task route", () => {
  test.each([
    ["GET", "/api/tasks", "tasks", ""],
    ["POST", "/api/tasks/", "start task", ""],
    ["GET", "/api/tasks/task_1", "task", "task_1"],
    ["GET", "/api/tasks/task_1/events", "task events", "task_1"],
    ["GET", "/api/tasks/events", "task", "events"],
    ["POST", "/api/tasks/task_1/cancel", "cancel task", "task_1"],
    ["POST", "/api/tasks/a%2Fb/input", "task input", "a/b"],
    ["GET", "/api/approvals", "approvals", ""],
    ["POST", "/api/approvals/appr_1", "decide approval", "appr_1"],
    ["GET", "/v1/models/up/vendor/small", "model", "up/vendor/small"],
    ["GET", "/v1/models/a/events", "model", "a/events"],
  ])("for %s %s is %j", (method, path, name, pathParam) => {
    expect(matchRoute(method, path)).toMatchObject({ type: "route", name, pathParam });
  });

  test.each([
    "/api/tasks/a/b",
    "/api/tasks//events",
    "/api/tasks/a/events/b",
    "/api/approvals/a/b",
  ])("is not found for %s", (path) => expect(matchRoute("GET", path).type).toBe("unknown"));

  test("is not found for a wrong method, but the allowed methods are", () => {
    expect(matchRoute("DELETE", "/api/tasks")).toEqual({
      type: "wrong_method",
      allowed: ["POST", "GET"],
    });
    expect(matchRoute("GET", "/api/tasks/a/cancel")).toEqual({
      type: "wrong_method",
      allowed: ["POST"],
    });
  });
});

describe("starting a task", () => {
  test("returns the task and its location", async () => {
    const { url, tasks, post } = await taskServerFixture();
    const taskBody = {
      agent: "helper",
      input: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
        { type: "file_url", file_url: { url: "https://example.org/a.pdf" }, filename: "a.pdf" },
      ],
      instructions: "Be short.",
      tool_groups: ["time"],
      session_id: "s1",
      limits: { rounds: 3, cost: 0.5, depth: 0 },
      options: { temperature: 0.2, top_k: 5, reasoning: { effort: "low" } },
      include: ["content"],
    };
    const response = await post("/api/tasks", taskBody);
    expect(response.status).toBe(201);
    const view = (await response.json()) as TaskView;
    expect(view).toMatchObject({ status: "working", output: [], references: [], approvals: [] });
    const address = response.headers.get("location");
    expect(address).toBe(`/api/tasks/${view.task_id}`);
    expect(await (await fetch(url + String(address))).json()).toEqual(view);
    expect(tasks.started).toEqual([taskBody]);
  });

  test("returns all events if they are requested; disconnecting does not stop the task", async () => {
    const { url, tasks } = await taskServerFixture();
    const stream = new TestStream(`${url}/api/tasks`, {
      method: "POST",
      headers: { accept: "text/event-stream", "content-type": "application/json" },
      body: JSON.stringify(go),
    });
    await stream.waitUntil("events", ({ types }) => types.length === 3);
    expect([stream.status, stream.types]).toEqual([
      200,
      ["task.stream.opened", "task.created", "task.working"],
    ]);
    const taskId = stream.frames[1]?.event.task_id ?? "";
    expect(stream.headers["location"]).toBe(`/api/tasks/${taskId}`);
    stream.disconnect();
    await sleep(10);
    expect(tasks.get(taskId).storedTree.tasks[taskId]?.status).toBe("working");
  });

  const at = "input[1]";
  const parts = (part: unknown): object => ({
    model: "m",
    input: [{ type: "text", text: "" }, part],
  });
  test.each<[string, unknown, string | null]>([
    ["neither agent nor model", { input: "x" }, "agent"],
    ["both", { agent: "a", model: "m", input: "x" }, "model"],
    ["a model that is not a string", { model: 7, input: "x" }, "model"],
    ["an empty name", { agent: " ", input: "x" }, "agent"],
    ["no input", { model: "m" }, "input"],
    ["an empty input", { model: "m", input: " " }, "input"],
    ["no parts", { model: "m", input: [] }, "input"],
    ["an unknown part", parts({ type: "video" }), `${at}.type`],
    ["a part that is null", parts(null), at],
    ["a part without text", parts({ type: "text" }), `${at}.text`],
    ["an image without a URL", parts({ type: "image_url", image_url: "x" }), `${at}.image_url`],
    [
      "an image with a file: URL",
      parts({ type: "image_url", image_url: { url: "file:///etc/passwd" } }),
      `${at}.image_url.url`,
    ],
    ["an unknown field", { ...go, limit: {} }, "limit"],
    ["options that are not an object", { ...go, options: [1] }, "options"],
    [
      "an option with a wrong value",
      { ...go, options: { temperature: "hot" } },
      "options.temperature",
    ],
    [
      "a nested option with a wrong value",
      { ...go, options: { reasoning: { effort: 3 } } },
      "options.reasoning.effort",
    ],
    ["a misspelled option", { ...go, options: { temperatur: 1 } }, "options.temperatur"],
    ["an option that the gateway sets", { ...go, options: { stream: false } }, "options.stream"],
    ["an unknown limit", { ...go, limits: { round: 3 } }, "limits.round"],
    ["a limit of zero", { ...go, limits: { rounds: 0 } }, "limits.rounds"],
    ["a fractional limit", { ...go, limits: { rounds: 1.5 } }, "limits.rounds"],
    ["tool groups that are not a list", { ...go, tool_groups: "time" }, "tool_groups"],
    ["a tool group that is not a string", { ...go, tool_groups: ["time", 1] }, "tool_groups[1]"],
    ["an unknown value of include", { ...go, include: ["all"] }, "include[0]"],
    ["a body that is not an object", [], null],
  ])("with %s is rejected with the field's name", async (_what, body, param) => {
    const { tasks, post } = await taskServerFixture();
    expect(await readError(await post("/api/tasks", body))).toEqual([
      400,
      "invalid_request",
      param,
    ]);
    expect(tasks.started).toEqual([]);
  });

  test.each([
    ["agent_not_found", 404, "agent_not_found", "agent"],
    ["unknown_model", 404, "model_not_found", "model"],
    ["unknown_tool_group", 400, "unknown_tool_group", "tool_groups"],
    ["closed", 503, "shutting_down", null],
    ["store_full", 503, "store_unavailable", null],
    ["something", 500, "internal_error", null],
  ])("fails with the runtime's %s as a %i", async (code, status, expectedCode, param) => {
    const { tasks, post } = await taskServerFixture();
    tasks.failure = Object.assign(new Error("it is so"), { code });
    expect(await readError(await post("/api/tasks", go))).toEqual([status, expectedCode, param]);
  });
});

describe("an Idempotency-Key for starting a task", () => {
  const key = { "idempotency-key": "k1" };
  const readTaskId = async (response: Response): Promise<string> =>
    ((await response.json()) as TaskView).task_id;

  test("returns the same task, even while the first request runs and after the task has ended", async () => {
    const { tasks, post } = await taskServerFixture();
    const replies = await Promise.all([1, 2, 3].map(() => post("/api/tasks", go, key)));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
    const ids = await Promise.all(replies.map(readTaskId));
    expect(new Set(ids).size).toBe(1);
    expect(tasks.started).toHaveLength(1);
    const replayed = replies.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
    expect(replayed).toHaveLength(2);

    await tasks.get(ids[0] ?? "").end();
    const repeated = await post("/api/tasks", { input: "Go", model: "m" }, key);
    expect([repeated.status, await readTaskId(repeated)]).toEqual([201, ids[0]]);
    expect(await readTaskId(await post("/api/tasks", go, { "idempotency-key": "k2" }))).not.toBe(
      ids[0],
    );
    expect(tasks.started).toHaveLength(2);
  });

  test("is rejected with another body", async () => {
    const { tasks, post } = await taskServerFixture();
    await post("/api/tasks", go, key);
    expect(await readError(await post("/api/tasks", { ...go, input: "Stop" }, key))).toEqual([
      409,
      "idempotency_conflict",
      "Idempotency-Key",
    ]);
    expect(tasks.started).toHaveLength(1);
  });

  test("starts the task that a first attempt could not start", async () => {
    const { tasks, post } = await taskServerFixture();
    tasks.failure = Object.assign(new Error("full"), { code: "store_full" });
    expect((await post("/api/tasks", go, key)).status).toBe(503);
    tasks.failure = undefined;
    const id = await readTaskId(await post("/api/tasks", go, key));
    expect(await readTaskId(await post("/api/tasks", go, key))).toBe(id);
    expect(tasks.started).toHaveLength(1);
  });

  test("is separate for each client", async () => {
    const toml = `[server]\nport = 0\ndemo = true\n[clients.ann]\ntoken = "token-of-ann-0123"\n[clients.bob]\ntoken = "token-of-bob-0123"\n`;
    const { post } = await taskServerFixture({ toml });
    const of = (name: string): Promise<Response> =>
      post("/api/tasks", go, { ...key, authorization: `Bearer token-of-${name}-0123` });
    const [ann, bob, none] = [await of("ann"), await of("bob"), await post("/api/tasks", go, key)];
    expect(await readTaskId(ann)).not.toBe(await readTaskId(bob));
    expect(none.status).toBe(401);
  });
});

test("the list has the newest tasks first, in pages, by session and by status", async () => {
  const { url, tasks } = await taskServerFixture();
  const ids: string[] = [];
  for (const session_id of ["a", "b", "a", "b", "a"])
    ids.unshift(await tasks.start({ ...go, session_id }));
  await tasks.get(ids[1] ?? "").end();
  interface Page {
    data: { task_id: string }[];
    has_more: boolean;
    next_before: string | null;
  }
  const list = async (query: string): Promise<Page> =>
    (await (await fetch(`${url}/api/tasks${query}`)).json()) as Page;
  const listIds = async (query: string): Promise<string[]> =>
    (await list(query)).data.map(({ task_id }) => task_id);
  expect(await listIds("")).toEqual(ids);
  const first = await list("?limit=2");
  expect([first.has_more, first.next_before]).toEqual([true, ids[1]]);
  expect(await listIds(`?limit=2&before=${first.next_before}`)).toEqual(ids.slice(2, 4));
  expect(await list(`?limit=2&before=${ids[3]}`)).toMatchObject({
    has_more: false,
    next_before: null,
    data: [{ task_id: ids[4], status: "working", agent: "a", session_id: "a" }],
  });
  expect(await listIds("?session_id=b")).toEqual([ids[1], ids[3]]);
  expect(await listIds("?status=completed")).toEqual([ids[1]]);
  for (const limit of ["0", "101", "x", "-1"])
    expect(await readError(await fetch(`${url}/api/tasks?limit=${limit}`))).toEqual([
      400,
      "invalid_request",
      "limit",
    ]);
});

describe("a task", () => {
  test("that is unknown is a 404 on every route", async () => {
    const { url, post } = await taskServerFixture();
    for (const response of [
      await fetch(`${url}/api/tasks/task_none`),
      await fetch(`${url}/api/tasks/task_none/events`),
      await post("/api/tasks/task_none/cancel"),
      await post("/api/tasks/task_none/input", { input: "x" }),
    ])
      expect(await readError(response)).toEqual([404, "task_not_found", null]);
    expect(await readError(await post("/api/approvals/none", { decision: "deny" }))).toEqual([
      404,
      "approval_not_found",
      null,
    ]);
  });

  test("of a sub-agent has its own view, but no event stream", async () => {
    const { url, tasks } = await taskServerFixture();
    const task = await tasks.startTask();
    const parent = { parent_task_id: task.id, parent_call_id: "call_1", depth: 1 };
    await task.emit({
      type: "task.created",
      task_id: "call_1",
      task: { ...createTaskInfo(task.id), ...parent },
    });
    expect(await (await fetch(`${url}/api/tasks/call_1`)).json()).toMatchObject({
      task_id: "call_1",
      status: "created",
    });
    for (const path of ["/api/tasks/call_1/events", "/api/events?task=call_1"]) {
      const response = await fetch(url + path);
      const body = (await response.json()) as Failure;
      expect([response.status, body.error.code, body["root_task_id"]]).toEqual([
        400,
        "not_a_root_task",
        task.id,
      ]);
      expect(body.error.message).toContain(task.id);
    }
  });

  test("cannot be followed from an invalid position", async () => {
    const { url, tasks } = await taskServerFixture();
    const { id } = await tasks.startTask();
    const address = `${url}/api/tasks/${id}/events`;
    for (const after of ["x", "-2", "1.5", "", "1e3", "99999999999999999999"])
      expect([after, await readError(await fetch(`${address}?after=${after}`))]).toEqual([
        after,
        [400, "invalid_request", "after"],
      ]);
    const headers = { "last-event-id": "A:3" };
    expect(await readError(await fetch(address, { headers }))).toEqual([
      400,
      "invalid_request",
      "Last-Event-ID",
    ]);
    expect(await readError(await fetch(`${address}?replay=some`))).toEqual([
      400,
      "invalid_request",
      "replay",
    ]);
  });

  test("can be canceled with or without a reason, also twice, but not after it has ended", async () => {
    const { url, tasks, post } = await taskServerFixture();
    const [stopped, done] = [await tasks.startTask(), await tasks.startTask()];
    const response = await post(`/api/tasks/${stopped.id}/cancel`, { reason: "enough" });
    expect([response.status, await response.json()]).toMatchObject([200, { status: "canceled" }]);
    const events = await (await fetch(`${url}/api/tasks/${stopped.id}/events?after=1`)).text();
    expect(events).toContain('"by":"user","reason":"enough"');
    expect((await post(`/api/tasks/${stopped.id}/cancel`)).status).toBe(200);
    await done.end();
    expect(await readError(await post(`/api/tasks/${done.id}/cancel`))).toEqual([
      409,
      "task_ended",
      null,
    ]);
    expect(await readError(await post(`/api/tasks/${done.id}/cancel`, { why: "x" }))).toEqual([
      400,
      "invalid_request",
      "why",
    ]);
  });

  test("accepts user input while it runs, and not after", async () => {
    const { tasks, post } = await taskServerFixture();
    const task = await tasks.startTask();
    const path = `/api/tasks/${task.id}/input`;
    const added = await post(path, { input: "Wait" });
    expect(await added.json()).toEqual({ task_id: task.id, delivery: "steer" });
    await post(path, { input: [{ type: "text", text: "Then" }], delivery: "queue" });
    expect(task.storedTree.tasks[task.id]?.inputs.map(({ delivery }) => delivery)).toEqual([
      "steer",
      "queue",
    ]);
    expect(await readError(await post(path, { input: "x", delivery: "now" }))).toEqual([
      400,
      "invalid_request",
      "delivery",
    ]);
    await task.end();
    expect(await readError(await post(path, { input: "x" }))).toEqual([409, "task_ended", null]);
  });

  test("accepts input with a key only once, and a repeated request gets the same reply, even after its end", async () => {
    const { tasks, post } = await taskServerFixture();
    const task = await tasks.startTask();
    const path = `/api/tasks/${task.id}/input`;
    const key = { "idempotency-key": "word" };
    const [first, second] = await Promise.all([
      post(path, { input: "Wait" }, key),
      post(path, { input: "Wait" }, key),
    ]);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(await second.json()).toEqual(await first.json());
    expect(await readError(await post(path, { input: "Go" }, key))).toEqual([
      409,
      "idempotency_conflict",
      "Idempotency-Key",
    ]);
    await post(path, { input: "Wait" }, { "idempotency-key": "another word" });
    expect(task.storedTree.tasks[task.id]?.inputs).toHaveLength(2);
    await task.end();
    expect((await post(path, { input: "Wait" }, key)).status).toBe(200);
    expect(await readError(await post(path, { input: "x" }, { "idempotency-key": "x" }))).toEqual([
      409,
      "task_ended",
      null,
    ]);
  });

  test("that is waiting for its runtime is reported as such", async () => {
    const { tasks, post } = await taskServerFixture();
    const task = await tasks.startTask();
    tasks.forget(task.id);
    const response = await post(`/api/tasks/${task.id}/input`, { input: "x" });
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await readError(response)).toEqual([503, "task_not_running", null]);
  });
});

describe("an approval", () => {
  const startWaitingTask = async (
    toml?: string,
  ): Promise<TaskServerFixture & { taskId: string }> => {
    const fixture = await taskServerFixture(toml === undefined ? {} : { toml });
    const task = await fixture.tasks.startTask();
    await task.requestApproval("appr_1");
    return { ...fixture, taskId: task.id };
  };

  test("that two tabs decide at the same time is decided by one, and the other one learns by whom", async () => {
    const { post, tasks, taskId } = await startWaitingTask();
    const [one, other] = await Promise.all([
      post("/api/approvals/appr_1", { decision: "approve", arguments: { a: 1 } }),
      post("/api/approvals/appr_1", { decision: "deny", reason: "no" }),
    ]);
    const [won, late] = one.status === 200 ? [one, other] : [other, one];
    expect([won.status, late.status]).toEqual([200, 409]);
    const { approval: winner } = (await won.json()) as { approval: object };
    const rejected = (await late.json()) as Failure;
    expect(rejected.error.code).toBe("approval_resolved");
    expect(rejected["approval"]).toEqual(winner);
    expect(tasks.get(taskId).approval("appr_1")).toEqual(winner);
    expect(winner).toMatchObject({ status: "resolved", resolution: { by: "user" } });
  });

  test("is decided under the name of the token's client, with arguments as JSON text", async () => {
    const { post } = await startWaitingTask(
      `[server]\nport = 0\ndemo = true\n[clients.ann]\ntoken = "token-of-ann-0123"\n`,
    );
    const response = await post(
      "/api/approvals/appr_1",
      { decision: "approve", arguments: { a: 1 }, scope: "session", any_arguments: false },
      { authorization: "Bearer token-of-ann-0123" },
    );
    expect(await response.json()).toMatchObject({
      approval: { resolution: { by: "ann", arguments: '{"a":1}', scope: "session" } },
    });
  });

  test.each<[string, object, string]>([
    ["no decision", {}, "decision"],
    ["an unknown decision", { decision: "yes" }, "decision"],
    ["a decision that is not offered", { decision: "redact" }, "decision"],
    ["incomplete arguments", { decision: "approve", arguments: '{"a":' }, "arguments"],
    ["an unknown scope", { decision: "approve", scope: "ever" }, "scope"],
    ["a reason that is not a string", { decision: "deny", reason: 3 }, "reason"],
    ["an unknown field", { decision: "deny", because: "x" }, "because"],
  ])("with %s stays open", async (_what, body, param) => {
    const { post, tasks, taskId } = await startWaitingTask();
    expect(await readError(await post("/api/approvals/appr_1", body))).toEqual([
      400,
      "invalid_request",
      param,
    ]);
    expect(tasks.get(taskId).approval("appr_1").status).toBe("pending");
  });
});

describe("a blob", () => {
  const bytes = Buffer.from("<svg onload='alert(1)'/>");
  const hash = createHash("sha256").update(bytes).digest("hex");

  test.each([
    ["image/png", "inline", "image/png"],
    ["audio/mpeg", "inline", "audio/mpeg"],
    ["image/svg+xml", "attachment", "image/svg+xml"],
    ["IMAGE/SVG+XML", "attachment", "IMAGE/SVG+XML"],
    ["text/html", "attachment", "text/html"],
    ["application/pdf", "attachment", "application/pdf"],
    ["image/png\r\nset-cookie: a=b", "attachment", "application/octet-stream"],
    ["", "attachment", "application/octet-stream"],
  ])("stored as %j is sent %s", async (storedType, disposition, type) => {
    const { url, store } = await taskServerFixture();
    await store.put(bytes, storedType);
    const response = await fetch(`${url}/api/blobs/${hash}`);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": type,
      "content-disposition": disposition,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=31536000, immutable",
    });
    expect(response.headers.has("set-cookie")).toBe(false);
  });

  test.each<[string, string, number, string | null]>([
    ["bytes=0-4", "<svg ", 206, `bytes 0-4/${bytes.length}`],
    ["bytes=5-", bytes.subarray(5).toString(), 206, `bytes 5-23/${bytes.length}`],
    ["bytes=-3", "'/>", 206, `bytes 21-23/${bytes.length}`],
    ["bytes=20-900", "1)'/>".slice(-4), 206, `bytes 20-23/${bytes.length}`],
    ["bytes=24-", "", 416, `bytes */${bytes.length}`],
    ["bytes=0-1,4-5", bytes.toString(), 200, null],
    ["bytes=5-4", bytes.toString(), 200, null],
    ["lines=0-1", bytes.toString(), 200, null],
  ])("requested with %s is sent accordingly", async (range, text, status, expectedRange) => {
    const { url, store } = await taskServerFixture();
    await store.put(bytes, "audio/mpeg");
    const response = await fetch(`${url}/api/blobs/${hash}`, { headers: { range } });
    expect([response.status, response.headers.get("content-range")]).toEqual([
      status,
      expectedRange,
    ]);
    expect(await response.text()).toBe(text);
    const other = { range, "if-range": '"another"' };
    expect((await fetch(`${url}/api/blobs/${hash}`, { headers: other })).status).toBe(200);
  });

  test("that does not exist, or whose name is not a hash, is a 404", async () => {
    const { url } = await taskServerFixture();
    for (const name of [hash, "..%2F..%2Fetc%2Fpasswd", hash.toUpperCase(), "x"])
      expect(await readError(await fetch(`${url}/api/blobs/${name}`))).toEqual([
        404,
        "blob_not_found",
        null,
      ]);
  });
});

test("old tasks are also removed soon after the start", async () => {
  const { store } = await taskServerFixture({ firstPruneDelayMs: 200 });
  let pruneCount = 0;
  store.prune = () => {
    pruneCount += 1;
    return Promise.resolve({ tasks: 0, blobs: 0 });
  };
  await waitUntil("old tasks are removed", () => pruneCount > 0);
  expect(pruneCount).toBe(1);
});

test("old tasks are removed regularly, and a failure of that is only logged", async () => {
  const { store, lines } = await taskServerFixture({ pruneIntervalMs: 5 });
  let pruneCount = 0;
  store.prune = () => {
    pruneCount += 1;
    return Promise.reject(new Error("busy"));
  };
  await waitUntil("old tasks are removed twice", () => pruneCount > 1);
  expect(lines).toContain("could not remove old tasks: Error: busy");
});
