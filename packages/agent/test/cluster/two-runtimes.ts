import { Runtime, type Agent, type RuntimeOptions } from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import type { TaskApproval, TaskTree } from "@deltawire/tasks";
import { expect, onTestFinished, vi } from "vitest";

/** A store that stops answering, as for a process that is stopped: its calls wait until it continues. */
export interface SuspendableStore {
  store: Store;
  suspend(): void;
  resume(): void;
}

export function createSuspendableStore(target: Store): SuspendableStore {
  let gate = Promise.resolve();
  let open: () => void = () => undefined;
  const store = new Proxy(target, {
    get(_target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await gate;
        const result: unknown = await value.apply(target, args);
        await gate;
        return result;
      };
    },
  });
  return {
    store,
    suspend() {
      gate = new Promise((resolve) => (open = resolve));
    },
    resume: () => open(),
  };
}

export async function openTestStore(): Promise<Store> {
  const store = await openStore({ path: ":memory:" });
  onTestFinished(() => store.close());
  return store;
}

/** Short, so that tests need not wait long for a takeover. */
export const leaseMs = 400;

export interface TestProcess {
  runtime: Runtime;
  failures: string[];
}

/** Creates a runtime as another process would have it. */
export function createProcess(
  store: Store,
  agent: Agent,
  options: Partial<RuntimeOptions> = {},
): TestProcess {
  const failures: string[] = [];
  const runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: () => agent,
    getModel: (name) => {
      throw new Error(`no model ${name}`);
    },
    onFailure: (message) => failures.push(message),
    cluster: { store, leaseMs, renewMs: 50 },
    ...options,
  });
  onTestFinished(() => runtime.close());
  return { runtime, failures };
}

/** Reads the stored state until it meets the condition. */
export async function waitForState(
  { runtime }: TestProcess,
  id: string,
  condition: (state: TaskTree) => boolean,
): Promise<TaskTree> {
  return vi.waitFor(
    async () => {
      const state = await runtime.state(id);
      expect(condition(state), JSON.stringify(state.tasks[id]?.status)).toBe(true);
      return state;
    },
    { timeout: 8000, interval: 10 },
  );
}

export const hasStatus =
  (id: string, status: string) =>
  (state: TaskTree): boolean =>
    state.tasks[id]?.status === status;

export async function waitForPending(process: TestProcess, id: string): Promise<TaskApproval> {
  let pending: TaskApproval | undefined;
  await waitForState(process, id, ({ approvals }) => {
    pending = approvals.find(({ status }) => status === "pending");
    return pending !== undefined;
  });
  if (pending === undefined) throw new Error("no pending approval");
  return pending;
}

/** Opens a store that claims to be shared, as PostgreSQL is, so that chats expect other processes. */
export async function openSharedStore(): Promise<Store> {
  const store = await openTestStore();
  return Object.defineProperty(store, "isShared", { value: true });
}

/** Returns the store with one method replaced, as a process with a bad connection sees it. `call` calls the original method. */
export function replaceMethod<Name extends keyof Store>(
  target: Store,
  name: Name,
  replacement: (call: () => Promise<unknown>, args: unknown[]) => Promise<unknown>,
): Store {
  return new Proxy(target, {
    get(_target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const call = (): Promise<unknown> => value.apply(target, args) as Promise<unknown>;
        return property === name ? replacement(call, args) : call();
      };
    },
  });
}
