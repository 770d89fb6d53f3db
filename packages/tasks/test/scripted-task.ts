import { hashArguments, TreeWriter, type TaskEvent, type TaskWriter } from "@deltawire/tasks";

export const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

/** Creates a writer that records its events and generates deterministic ids. */
export function createRecordingWriter(): {
  events: TaskEvent[];
  tree: TreeWriter;
  root: TaskWriter;
} {
  const events: TaskEvent[] = [];
  let ids = 0;
  const tree = new TreeWriter({
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => "2025-01-01T00:00:00.000Z",
    emit: ({ event }) => events.push(event),
  });
  const root = tree.create("task_1", {
    root_task_id: "task_1",
    attempt: 1,
    depth: 0,
    agent: "Weather",
    model: "m",
    limits: {},
  });
  root.working();
  return { events, tree, root };
}

/**
 * Writes a task with reasoning, an approved call, a sub-agent with an approved call, a user input, a retracted partial answer, and an
 * answer with a citation and an image. `asks`: the indexes of the events at which the task waits for a user.
 */
export function createScriptedTask(): { events: TaskEvent[]; asks: number[] } {
  const { events, tree, root } = createRecordingWriter();
  const asks: number[] = [];

  root.roundStarted(1, "m");
  const reasoning = root.reasoning();
  reasoning.summaryDelta("Thinking about ");
  reasoning.summaryDelta("the weather.");
  reasoning.summaryDone();
  reasoning.summaryDelta("Asking.");
  reasoning.done();
  const weather = root.toolCall("call_w", "get_weather");
  for (const piece of ['{"loc', 'ation":', '"Paris"}']) weather.argumentsDelta(piece);
  weather.done('{"location":"Paris"}');
  const help = root.toolCall("call_h", "ask_for_help");
  help.argumentsDelta('{"name":"Maps"}');
  help.done('{"name":"Maps"}');
  root.roundDone(1, "tool_calls", usage);

  ask(root, weather.itemId, "ap_w", "call_w", '{"location":"Paris"}');
  asks.push(events.length - 1);
  answer(root, weather.itemId, "ap_w");
  run(root, "call_w", weather.itemId, '{"location":"Paris"}', (result) => {
    result.block({ type: "text", text: "15C", id: 1 });
    result.block({ type: "image", image_url: { url: "data:image/png;base64,AA==" }, id: 1 });
    root.referenceAdded({
      reference_id: 1,
      item_id: result.itemId,
      block_indexes: [0, 1],
      title: "Forecast",
      url: "https://weather.example/",
    });
  });

  root.update(help.itemId, { status: "executing", child_task_ids: ["call_h"] });
  const helpResult = root.toolResult("call_h");
  const child = tree.create("call_h", {
    root_task_id: "task_1",
    parent_task_id: "task_1",
    parent_call_id: "call_h",
    attempt: 1,
    depth: 1,
    agent: "Maps",
    model: "m",
    limits: {},
  });
  child.working();
  child.roundStarted(1, "m");
  const route = child.toolCall("call_c", "route");
  route.argumentsDelta("{}");
  route.done("{}");
  child.roundDone(1, "tool_calls", usage);
  ask(child, route.itemId, "ap_c", "call_c", "{}");
  asks.push(events.length - 1);
  answer(child, route.itemId, "ap_c");
  run(child, "call_c", route.itemId, "{}", (result) =>
    result.block({ type: "text", text: "north" }),
  );
  child.roundStarted(2, "m");
  const childMessage = child.message();
  childMessage.delta("Go ");
  childMessage.delta("north.");
  childMessage.done();
  child.roundDone(2, "stop", usage);
  child.completed(usage);
  helpResult.done({ omitBlocks: true });
  root.update(help.itemId, { status: "completed", outcome: "completed" });

  root.inputAdded(
    { type: "message", id: "in_1", role: "user", content: [{ type: "text", text: "In German!" }] },
    "steer",
  );
  root.roundStarted(2, "m");
  const secondReasoning = root.reasoning();
  secondReasoning.summaryDelta("Now the answer.");
  secondReasoning.done();
  const cutMessage = root.message();
  cutMessage.delta("It is su");
  root.retract(cutMessage.itemId, "the model was cut off");
  root.warning("retry", "asked again", { attempt: 2 });
  const message = root.message();
  message.delta("Sonnig [^");
  message.delta("1], nicht [^7].");
  message.textDone();
  message.block({ type: "image", image_url: { url: "/api/blobs/1" } });
  message.block({ type: "data", data: { degrees: 15 } });
  message.done();
  root.roundDone(2, "stop", usage);
  root.completed(usage);
  return { events, asks };
}

function ask(task: TaskWriter, item: string, approval: string, call: string, args: string): void {
  task.approvalRequested({
    approval_id: approval,
    kind: "call",
    call_id: call,
    args_hash: hashArguments(args),
    choices: ["approve", "deny", "abort"],
    question: `Run ${call}?`,
  });
  task.update(item, { status: "awaiting_approval" });
  task.inputRequired("approval", [approval]);
}

function answer(task: TaskWriter, item: string, approval: string): void {
  task.approvalResolved(approval, { decision: "approve", by: "me", scope: "once" });
  task.working();
  task.update(item, { status: "executing" });
}

function run(
  task: TaskWriter,
  call: string,
  item: string,
  args: string,
  write: (result: ReturnType<TaskWriter["toolResult"]>) => void,
): void {
  const execution = `ex_${call}`;
  task.executionStarted({
    call_id: call,
    execution_id: execution,
    attempt: 1,
    args_hash: hashArguments(args),
    effect: "pure",
    idempotency_key: call,
  });
  task.executionProgress(call, execution, "half way", 0.5);
  task.executionDone(call, execution, "completed", 3);
  const result = task.toolResult(call);
  write(result);
  result.done();
  task.update(item, { status: "completed", outcome: "completed" });
}
