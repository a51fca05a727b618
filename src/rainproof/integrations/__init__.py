"""rainproof in other packages: scikit-learn, MLflow, torchmetrics."""
