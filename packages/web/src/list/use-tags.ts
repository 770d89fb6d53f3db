import { useCallback, useEffect, useState } from "react";
import { usePage } from "../hooks/use-page.ts";

/** The tags in use. They may be a moment old: they are read when somebody is about to look at them. */
export function useTags(): { readonly all: readonly string[]; readonly read: () => void } {
  const { client } = usePage();
  const [all, setAll] = useState<readonly string[]>([]);
  const read = useCallback(() => {
    client.tags().then(
      ({ data }) => setAll(data.map(({ tag }) => tag)),
      // Without them there is no filter; that the gateway is away is said elsewhere.
      () => {},
    );
  }, [client]);
  useEffect(read, [read]);
  return { all, read };
}
