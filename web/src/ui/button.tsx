/** Buttons and links that look like them. */

import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link } from "wouter";

import style from "./button.module.css";
import { classes } from "./class.ts";
import { Icon, type IconName } from "./icon.tsx";

/** How loud a button is. */
export type ButtonKind = "primary" | "plain" | "quiet" | "danger";

/** What a button is given besides what any button has. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  /** Works on it: says so and takes no second press. */
  readonly busy?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** A button. */
export function Button({ kind = "plain", icon, busy = false, children, className, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={classes(style.button, style[kind], className)}
      aria-busy={busy || undefined}
      disabled={rest.disabled === true || busy}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that is only an icon; its label is what readers hear and what stands in the hint. */
export function IconButton({
  icon,
  label,
  className,
  ...rest
}: ButtonProps & { readonly icon: IconName; readonly label: string }): ReactNode {
  return (
    <Button
      {...rest}
      kind={rest.kind ?? "quiet"}
      className={classes(style.icon, className)}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </Button>
  );
}

/** A link to another page in the form of a button. */
export function LinkButton({
  href,
  kind = "plain",
  icon,
  children,
}: {
  readonly href: string;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Link href={href} className={classes(style.button, style[kind])}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}
