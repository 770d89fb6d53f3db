import type { ReactNode } from "react";
import { Icon } from "./icon.tsx";

export function Spinner({ label }: { label: string }) {
  return (
    <span role="status">
      <span className="spinner" aria-hidden="true" />
      <span className="visually-hidden">{label}</span>
    </span>
  );
}

/** Shown instead of content: says why there is none, and what to do. */
export function EmptyState({
  title,
  text,
  children,
}: {
  title: string;
  text: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
}

export function Tag({ children }: { children: ReactNode }) {
  return <span className="tag">{children}</span>;
}

export type StatusKind = "running" | "waiting" | "ok" | "failed" | "stopped";

export function StatusBadge({ kind, label }: { kind: StatusKind; label: string }) {
  return (
    <span className="status-badge" data-kind={kind}>
      {label}
    </span>
  );
}

interface CollapsibleProps {
  summary: ReactNode;
  /** If set, the component is controlled: update it in `onToggle`. */
  open?: boolean | undefined;
  onToggle?: ((open: boolean) => void) | undefined;
  className?: string | undefined;
  children: ReactNode;
}

export function Collapsible({ summary, open, onToggle, className, children }: CollapsibleProps) {
  return (
    <details
      className={className === undefined ? "collapsible" : `collapsible ${className}`}
      open={open}
      onToggle={(event) => {
        if (event.currentTarget.open !== open) onToggle?.(event.currentTarget.open);
      }}
    >
      <summary>
        <Icon name="chevron" small />
        {summary}
      </summary>
      {children}
    </details>
  );
}
