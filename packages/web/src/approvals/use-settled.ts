import { useEffect, useState } from "react";

/** Whether this has been the same for a while. */
export function useSettled(value: string | undefined, ms: number): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    if (value === undefined) return undefined;
    const timer = setTimeout(() => setSettled(value), ms);
    return () => {
      clearTimeout(timer);
      setSettled(undefined);
    };
  }, [value, ms]);
  return value !== undefined && settled === value;
}
