/* A store that keeps denied content instead of replacing it. The kill test must detect it. */
import { openStore as openSqlite, type Store } from "@deltawire/store";

export async function openStore({ folder }: { folder: string }): Promise<Store> {
  const store = await openSqlite({ folder });
  return new Proxy(store, {
    get(target, name) {
      if (name === "append")
        return (...[task, entries, { durable }]: Parameters<Store["append"]>) =>
          target.append(task, entries, { durable });
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
