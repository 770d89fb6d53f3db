import { expect, test } from "vitest";
import { ProcessLease } from "../../src/cluster/process-lease.ts";

/** A lease of 600 ms with a clock that the test sets. */
function createLease(renewals: boolean[]) {
  const clock = { now: 0 };
  const store = {
    renewLease: async (): Promise<boolean> => {
      // The round trip to the store.
      clock.now += 50;
      return renewals.shift() ?? true;
    },
  };
  const lease = new ProcessLease({ store, processId: "p", leaseMs: 600, now: () => clock.now });
  return { lease, clock };
}

test("a lease is invalid before it starts, and some time before the store lets others claim its tasks", async () => {
  const { lease, clock } = createLease([false]);
  expect(lease.isValid).toBe(false);
  await lease.renew();
  clock.now = 499;
  expect(lease.isValid).toBe(true);
  clock.now = 500;
  expect(lease.isValid).toBe(false);
  await lease.renew();
  expect(lease.isValid).toBe(true);
  expect(lease.hasLapsed).toBe(false);
});

test("a renewed lease that had lapsed is invalid until the lost tasks are stopped", async () => {
  const { lease, clock } = createLease([false, false]);
  await lease.renew();
  clock.now = 5000;
  await lease.renew();
  expect(lease.hasLapsed).toBe(true);
  expect(lease.isValid).toBe(false);
  lease.confirm();
  expect(lease.isValid).toBe(true);
});

test("a lease that expired while the store extended it counts as lapsed", async () => {
  const { lease, clock } = createLease([false, true, true]);
  await lease.renew();
  clock.now = 580; // the reply arrives at 630, after the end at 600
  await lease.renew();
  expect(lease.hasLapsed).toBe(true);
  expect(lease.isValid).toBe(false);
  lease.confirm();
  await lease.renew();
  expect(lease.isValid).toBe(true);
});
