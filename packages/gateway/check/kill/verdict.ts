import { isDeepStrictEqual } from "node:util";
import {
  emptyTree,
  reduce,
  taskView,
  treeOf,
  validateLog,
  type Approval,
  type LogRow,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
  type TaskView,
} from "@deltawire/tasks";
import { calls, effects, secret, toolNames } from "./agents.ts";
import type { End, Seen } from "./one-run.ts";

/** What is wrong with a run, beside one that nobody disturbed. */
export function verdict({ faults, end, killedAt }: Seen, undisturbed: End): string[] {
  if (end === undefined) return [...faults];
  const { log, resumed, fresh, view, heard, listed, taskId, rows } = end;
  const broken = validateLog(log, { complete: true });
  if (broken !== undefined)
    return [...faults, `the log is broken at ${broken.sequence_number}: ${broken.message}`];
  const tree = reduce(emptyTree, log);
  if (view.status !== "completed")
    return [...faults, `the task ended ${view.status}: ${view.error?.message ?? ""}`];
  return [
    ...faults,
    ...(killedAt.length < 2 && heard.some(({ type }) => type === "task.snapshot")
      ? ["the client could not go on from where it was"]
      : []),
    ...(isDeepStrictEqual(listed, [taskId]) ? [] : [`there are the tasks ${listed.join(", ")}`]),
    ...differences("the log", tree, {
      "the client that resumed": resumed,
      "one that is new": fresh,
    }),
    ...(isDeepStrictEqual(view, json(taskView(tree)))
      ? []
      : ["GET does not tell what the log says"]),
    ...lost(end, tree),
    ...stillThere(view, log, rows),
    ...ranTooOften(end, tree),
    ...asksInVain(log, tree),
    ...otherOutput(tree, reduce(emptyTree, undisturbed.log)),
  ];
}

function differences(name: string, tree: TaskTree, others: Record<string, TaskTree>): string[] {
  return Object.entries(others).flatMap(([other, its]) =>
    isDeepStrictEqual(json(its), json(tree)) ? [] : [`${other} has not what ${name} says`],
  );
}

/** What a client was told or promised, and is not so. */
function lost({ heard, log, decided, canceled, fresh }: End, tree: TaskTree): string[] {
  const faults: string[] = [];
  const refused = refusedIn(tree);
  let head = -1;
  for (const event of heard) {
    if (event.type === "task.snapshot") {
      const kept = reduce(emptyTree, log.slice(0, event.as_of + 1));
      if (!isDeepStrictEqual(json(withoutRefused(treeOf(event), refused)), json(kept)))
        faults.push(`the snapshot of ${event.as_of} is not what the log says`);
      head = event.as_of;
      continue;
    }
    const { type, sequence_number: at, coalesced_from } = event;
    if (coalesced_from === undefined && !isDeepStrictEqual(log[at], asKept(event, refused)))
      faults.push(`${type} ${at} was told and is not in the log`);
    if ((coalesced_from ?? at) !== head + 1) faults.push(`${type} ${at} was told after ${head}`);
    head = at;
  }
  const undone = decided.filter(({ approval_id, decision }) => {
    const approval = fresh.approvals.find((one) => one.approval_id === approval_id);
    return approval?.resolution?.decision !== decision;
  });
  for (const { approval_id } of undone)
    faults.push(`the decision of ${approval_id} was acknowledged and is lost`);
  for (const id of canceled)
    if (fresh.tasks[id]?.status !== "canceled")
      faults.push(`the end of ${id} was acknowledged and is lost`);
  return faults;
}

/** Questions whose results nobody has released: the blocks that were held are no longer kept. */
function refusedIn({ approvals }: TaskTree): ReadonlySet<string> {
  return new Set(
    approvals
      .filter(
        ({ status, resolution }) => status === "expired" || resolution?.decision !== "approve",
      )
      .map(({ approval_id }) => approval_id),
  );
}

/** An event as it is kept now. A client may have it as it was before a person refused what it shows. */
function asKept(event: TaskEvent, refused: ReadonlySet<string>): TaskEvent {
  if (event.type !== "task.approval.requested") return event;
  return { ...event, approval: withoutBlocks(event.approval, refused) };
}

function withoutRefused(tree: TaskTree, refused: ReadonlySet<string>): TaskTree {
  return { ...tree, approvals: tree.approvals.map((each) => withoutBlocks(each, refused)) };
}

function withoutBlocks<One extends Approval>(approval: One, refused: ReadonlySet<string>): One {
  if (!refused.has(approval.approval_id)) return approval;
  const { block_list: _held, ...rest } = approval;
  return rest as One;
}

/** What a person refused to show is neither told nor kept. */
function stillThere(view: TaskView, log: readonly TaskEvent[], rows: readonly LogRow[]): string[] {
  const places = [
    ...(JSON.stringify(view).includes(secret) ? ["what GET answers"] : []),
    ...log
      .filter((event) => JSON.stringify(event).includes(secret))
      .map(({ sequence_number: at, type }) => `${type} ${at}`),
    ...rows
      .filter(({ json: text, private: hidden = "" }) => (text + hidden).includes(secret))
      .map(({ sequence_number: at }) => `row ${at} of the store`),
  ];
  return places.map((place) => `what was refused is still in ${place}`);
}

/** What the counter has to say, which no server can have told it to. */
function ranTooOften({ counts, plot }: End, tree: TaskTree): string[] {
  const executions = Object.values(tree.tasks).flatMap((task) => task.executions);
  const reconciled = reconciledCalls(tree);
  return toolNames.flatMap((tool) => {
    const keys = Object.entries(counts[tool] ?? {});
    const faults: string[] = [];
    const inDoubt = [...reconciled.values()].filter((name) => name === tool).length;
    const due = plot === "helper canceled" && tool === "send" ? 0 : calls[tool];
    if (keys.length > due) faults.push(`${tool} ran under ${keys.length} keys`);
    if (keys.length < due - inDoubt) faults.push(`${tool} ran ${keys.length} times only`);
    for (const [key, times] of keys) {
      if (effects[tool] === "once" && times > 1) faults.push(`${tool} ran ${times} times`);
      if (!executions.some((one) => one.idempotency_key === key))
        faults.push(`${tool} ran, and the log does not know of it`);
    }
    return faults;
  });
}

/** A person looks into what nobody knows, and into nothing else. */
function asksInVain(log: readonly TaskEvent[], tree: TaskTree): string[] {
  const unknown = new Set<string>();
  const once = new Set<string>();
  for (const event of log) {
    if (event.type === "task.tool_execution.started" && event.effect === "once")
      once.add(event.call_id);
    if (
      event.type === "task.tool_execution.done" &&
      event.outcome === "unknown" &&
      once.has(event.call_id)
    )
      unknown.add(event.call_id);
  }
  const asked = new Set(reconciledCalls(tree).keys());
  return isDeepStrictEqual(asked, unknown)
    ? []
    : [`a person had to look into ${asked.size} calls, and ${unknown.size} are in doubt`];
}

/** Tools by the calls of which a person had to say what became of them. */
function reconciledCalls({ approvals }: TaskTree): Map<string, string> {
  return new Map(
    approvals
      .filter(({ kind }) => kind === "reconcile")
      .map(({ call_id = "", tool = "" }) => [call_id, tool]),
  );
}

function otherOutput(tree: TaskTree, undisturbed: TaskTree): string[] {
  const inDoubt = new Set(reconciledCalls(tree).keys());
  const [got, want] = [taskView(tree), taskView(undisturbed)];
  const faults: string[] = [];
  compare(got.output, want.output, "output");
  if (!isDeepStrictEqual(plain(got.references), plain(want.references)))
    faults.push("other references than undisturbed");
  return faults;

  function compare(items: readonly object[], others: readonly object[], place: string): void {
    if (items.length !== others.length)
      return void faults.push(`${place} has ${items.length} parts, undisturbed ${others.length}`);
    for (const [at, item] of items.entries()) {
      const { block_list = [], ...own } = item as Partial<
        Extract<OutputItem, { call_id: string }>
      > & { block_list?: object[] };
      const { block_list: blocks = [], ...other } = others[at] as typeof own & {
        block_list?: object[];
      };
      const here = `${place}[${at}]`;
      // Of a call in doubt only its place is known.
      if (own.call_id !== undefined && inDoubt.has(own.call_id)) continue;
      if (!isDeepStrictEqual(plain(own), plain(other)))
        faults.push(`${here} is not as undisturbed`);
      compare(block_list, blocks, here);
    }
  }
}

/** Without ids and times, which are new in every run; numbers are those of citations. */
function plain(value: unknown): unknown {
  const ids = ["id", "call_id", "item_id", "task_id", "child_task_ids"];
  const isNew = (key: string, one: unknown): boolean =>
    key === "duration_ms" || (ids.includes(key) && typeof one !== "number");
  return JSON.parse(
    JSON.stringify(value, (key, one: unknown) => (isNew(key, one) ? undefined : one)),
  );
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
